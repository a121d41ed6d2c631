"""In which of its log directories each replica lies: told to the controller (KIP-858).

The controller places replicas on brokers, and a broker with several directories on one of those.
When a directory fails, the broker reports the directory alone, and the controller knows from the
metadata which replicas went with it; so those must be right. Whatever differs is reported, all that
has come up meanwhile in one request, again and again until the controller has taken it or the
replica is gone.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.manager import LogManager
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.partition_image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
)
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Call, LinkError
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
)

_TIMEOUT_MS: Final = 10_000
_RETRY_S: Final = 0.5
_REQUEST_COUNT_MAX: Final = 2_000
_NOWHERE: Final = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY, LOST_DIRECTORY)
# The replica is not this broker's any more, which it will hear of, if it has not yet.
_GONE: Final = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)

Replica = tuple[bytes, int]
"""Topic id and partition."""


DirectoryIdOf = Callable[[str, int], bytes | None]
"""Of a topic's partition."""


def assigned_in(image: Image, broker_id: int) -> DirectoryIdOf:
    """Where the metadata have the replicas of a broker."""

    def directory_id_of(topic: str, index: int) -> bytes | None:
        found = image.topics.named(topic)
        partition = None if found is None else found.partitions.get(index)
        if partition is None or broker_id not in partition.replicas:
            return None
        return partition.directory_of(broker_id)

    return directory_id_of


def assigned_directory(
    directories: Sequence[LogDirectory], directory_id: bytes
) -> LogDirectory | None:
    """The one of this id, if a log can be made in it."""
    for directory in directories:
        if directory.is_online and directory.meta is not None and directory.id == directory_id:
            return directory
    return None


def may_be_offline(directories: Sequence[LogDirectory], directory_id: bytes) -> bool:
    """Whether a replica of that directory, not found in any other, may lie in one that failed."""
    if directory_id in _NOWHERE or assigned_directory(directories, directory_id) is not None:
        return False
    return not all(directory.is_online for directory in directories)


@dataclass(frozen=True, slots=True)
class AssignmentParts:
    client: ControllerClient
    clock: Clock
    log: EventLog
    broker_id: int
    broker_epoch: Callable[[], int]


class DirectoryAssignment:
    """`run` as a task."""

    def __init__(self, on: AssignmentParts, logs: LogManager) -> None:
        self._on = on
        self._logs = logs
        self._wanted: dict[Replica, bytes] = {}
        self.arriving: dict[Replica, bytes] = {}
        """Replicas on their way to a directory, where the metadata may have them already."""
        self._arrived = asyncio.Event()
        self._done: dict[Replica, asyncio.Future[None]] = {}
        self._complaints = FloodLimit(on.log, on.clock)

    def __len__(self) -> int:
        return len(self._wanted)

    def apply(self, delta: Delta, image: Image) -> None:
        """Report the replicas of which the metadata say that they lie elsewhere."""
        for topic_id, indexes in delta.topics.changed.items():
            topic = image.topics.by_id[topic_id]
            for index in indexes:
                partition = topic.partitions[index]
                if self._on.broker_id not in partition.replicas:
                    self._forget((topic_id, index))
                    continue
                directory = self._logs.directory_of(topic.name, index)
                told = partition.directory_of(self._on.broker_id)
                if directory is None or not directory.is_online or directory.id == told:
                    continue
                if self.arriving.get((topic_id, index)) != told:
                    self.report(topic_id, index, directory.id)

    def report(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        self._wanted[topic_id, index] = directory_id
        self._arrived.set()

    async def assign(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Report, and wait until the controller has taken it; the caller sets the deadline."""
        self.report(topic_id, index, directory_id)
        done = self._done.get((topic_id, index))
        if done is None:
            done = self._done[topic_id, index] = asyncio.get_running_loop().create_future()
        await asyncio.shield(done)

    async def run(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._wanted:
                asked = dict(islice(self._wanted.items(), _REQUEST_COUNT_MAX))
                if not await self._ask(asked):
                    await asyncio.sleep(_RETRY_S)

    async def _ask(self, asked: dict[Replica, bytes]) -> bool:
        """False: to be asked again, after a while."""
        version = API_BY_KEY[ApiKey.ASSIGN_REPLICAS_TO_DIRS].max_version
        request = _request(self._on.broker_id, self._on.broker_epoch(), asked)
        call = Call(ApiKey.ASSIGN_REPLICAS_TO_DIRS, version, encode(request, version))
        try:
            body = await self._on.client.call(call, _TIMEOUT_MS, is_idempotent=True)
        except LinkError as error:
            self._complaints.warning("no controller hears of directories", reason=str(error))
            return False
        response = decode(AssignReplicasToDirsResponse, version, bytes(body))
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The cluster's metadata have no room for directories: all replicas lie anywhere.
            for replica in asked:
                self._forget(replica)
            return True
        if response.error_code:
            error_name = ErrorCode(response.error_code).name
            self._complaints.warning("directories not assigned", error=error_name)
            return False
        return self._take(asked, response)

    def _take(self, asked: dict[Replica, bytes], response: AssignReplicasToDirsResponse) -> bool:
        is_complete = True
        for directory in response.directories:
            for topic in directory.topics:
                for one in topic.partitions:
                    replica = (topic.topic_id, one.partition_index)
                    error = ErrorCode(one.error_code)
                    if self._wanted.get(replica) != asked.get(replica):
                        continue  # it has moved on meanwhile
                    if error is ErrorCode.NONE or error in _GONE:
                        self._forget(replica)
                    else:
                        is_complete = False
                        self._complaints.warning("a directory was not taken", error=error.name)
        return is_complete

    def _forget(self, replica: Replica) -> None:
        self._wanted.pop(replica, None)
        done = self._done.pop(replica, None)
        if done is not None and not done.done():
            done.set_result(None)


def _request(
    broker_id: int, broker_epoch: int, asked: dict[Replica, bytes]
) -> AssignReplicasToDirsRequest:
    directories: dict[bytes, dict[bytes, list[PartitionData]]] = {}
    for (topic_id, index), directory_id in asked.items():
        topics = directories.setdefault(directory_id, {})
        topics.setdefault(topic_id, []).append(PartitionData(index))
    return AssignReplicasToDirsRequest(
        broker_id,
        broker_epoch,
        [
            DirectoryData(
                directory_id,
                [TopicData(topic_id, partitions) for topic_id, partitions in topics.items()],
            )
            for directory_id, topics in directories.items()
        ],
    )
