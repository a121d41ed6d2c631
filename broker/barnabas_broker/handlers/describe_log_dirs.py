"""DescribeLogDirs (key 35), served v1-v5.

v2 flexible; v3 an error for the whole answer, which there is none of yet; v4 total and usable bytes
of the file system (KIP-827); v5 whether a directory is cordoned (KIP-1066). A null list of topics
means all that are kept here. A copy that is on its way to another directory is a future replica;
its lag is what it is behind the current one. That of a current replica is what it is behind the
high watermark it knows of, which is nothing on a leader. A directory that failed is a storage error
without topics.
"""

from collections.abc import Iterator

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.storage import Storage
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import DiskError, Executor
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from barnabas_core.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

Wanted = frozenset[tuple[str, int]] | None
"""The partitions asked for; None: all of them."""


class DescribeLogDirsHandler:
    def __init__(self, storage: Storage, view: ClusterView, executor: Executor) -> None:
        self._storage = storage
        self._view = view
        self._executor = executor

    async def handle(
        self, request: DescribeLogDirsRequest, context: RequestContext
    ) -> DescribeLogDirsResponse:
        wanted: Wanted = None
        if request.topics is not None:
            wanted = frozenset(
                (topic.topic, index) for topic in request.topics for index in topic.partitions
            )
        results = [await self._describe(one, wanted) for one in self._storage.logs.directories]
        return DescribeLogDirsResponse(results=results)

    async def _describe(self, directory: LogDirectory, wanted: Wanted) -> DescribeLogDirsResult:
        if not directory.is_online:
            return _failed(directory)
        disk = self._storage.logs.environment.disk
        try:
            space = await self._executor.in_thread(lambda: disk.space(directory.path))
        except DiskError as error:
            self._storage.fail(error)
            return _failed(directory)
        return DescribeLogDirsResult(
            ErrorCode.NONE,
            directory.path,
            self._topics(directory, wanted),
            *space,
            self._is_cordoned(directory),
        )

    def _topics(self, directory: LogDirectory, wanted: Wanted) -> list[DescribeLogDirsTopic]:
        topics: dict[str, DescribeLogDirsTopic] = {}
        for key, described in self._partitions(directory):
            if wanted is None or key in wanted:
                topic = topics.setdefault(key[0], DescribeLogDirsTopic(key[0]))
                topic.partitions.append(described)
        return list(topics.values())

    def _partitions(
        self, directory: LogDirectory
    ) -> Iterator[tuple[tuple[str, int], DescribeLogDirsPartition]]:
        for key, log in sorted(directory.logs.items()):
            lag = log.high_watermark - log.log_end_offset
            yield key, _described(log, lag, is_future=False)
        for key, log in sorted(directory.future_logs.items()):
            current = self._storage.logs.get(*key)
            lag = 0 if current is None else current.log_end_offset - log.log_end_offset
            yield key, _described(log, lag, is_future=True)

    def _is_cordoned(self, directory: LogDirectory) -> bool:
        own = self._view.image.cluster.brokers.get(self._view.node_id)
        return own is not None and directory.id in own.cordoned_log_dirs


def _failed(directory: LogDirectory) -> DescribeLogDirsResult:
    return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, directory.path)


def _described(log: PartitionLog, lag: int, *, is_future: bool) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(log.partition, log.size_bytes, max(lag, 0), is_future)
