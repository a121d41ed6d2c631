"""What one target of a fetch is answered with, as of now.

Reading stops at the high watermark, or at the last stable offset for `read_committed`. A follower
serves what it has of that to those who may be sent to one (v11). Errors are answered at once, but
for one: a new leader may not know yet that what a reader has seen under the last one is committed.
It waits with the reader for its high watermark to get there.
"""

from dataclasses import dataclass
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.fetching.replica_selector import NO_REPLICA, preferred_replica
from barnabas_broker.fetching.session import READ_COMMITTED
from barnabas_broker.fetching.target import FetchTarget
from barnabas_broker.leader_hint import LeaderHints
from barnabas_broker.partitions.cold_reader import ColdReader
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_core.log.error import LogOffline, OffsetOutOfRange
from barnabas_core.log.read import LogRead
from barnabas_core.ports import DiskError
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest
from barnabas_core.wire.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)

_STORAGE_ERROR_VERSION: Final = 6
_ZSTD_VERSION: Final = 10
_FOLLOWER_VERSION: Final = 11
_LEADER_HINT_VERSION: Final = 16
_HINTED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)

# Shared by all answers: nobody changes what has no value.
NO_DIVERGENCE: Final = EpochEndOffset()
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()


@dataclass(frozen=True, slots=True)
class FetchParts:
    partitions: Partitions
    view: ClusterView
    purgatory: Purgatory
    cold_reader: ColdReader
    response_bytes_max: int = 55 * 1024 * 1024
    is_rack_aware: bool = False


class TargetReader:
    """The targets of one request are read alike: for this client, of this version."""

    __slots__ = (
        "_client_rack",
        "_context",
        "_hints",
        "_may_block",
        "_parts",
        "_read_committed",
        "_version",
    )

    def __init__(
        self,
        parts: FetchParts,
        request: FetchRequest,
        context: RequestContext,
    ) -> None:
        self._parts = parts
        self._context = context
        self._version = context.api_version
        self._read_committed = request.isolation_level == READ_COMMITTED
        self._client_rack = request.rack_id if parts.is_rack_aware else ""
        self._may_block = False
        self._hints: LeaderHints | None = None

    def read_target(self, target: FetchTarget, room: int, *, is_first: bool) -> PartitionData:
        partition = target.partition
        if partition is None:
            return self._failed(target, target.error)
        error = partition.check_leader(target.wanted.current_leader_epoch)
        if error is not ErrorCode.NONE and not self._may_follow(error):
            return self._failed(target, error)
        try:
            return self._read_partition(partition, target, room, is_first=is_first)
        except OffsetOutOfRange:
            return self._failed(target, _out_of_range(partition, target.wanted))
        except LogOffline:
            return self._failed(target, ErrorCode.KAFKA_STORAGE_ERROR)
        except DiskError as failure:
            self._parts.partitions.fail(partition, failure)
            return self._failed(target, ErrorCode.KAFKA_STORAGE_ERROR)

    def may_read(self, partition: Partition, wanted: FetchPartition) -> bool:
        error = partition.check_leader(wanted.current_leader_epoch)
        return error is ErrorCode.NONE or self._may_follow(error)

    def _may_follow(self, error: ErrorCode) -> bool:
        return error is ErrorCode.NOT_LEADER_OR_FOLLOWER and self._version >= _FOLLOWER_VERSION

    def read_log(self, partition: Partition, wanted: FetchPartition, max_bytes: int) -> LogRead:
        up_to = partition.visible_end(read_committed=self._read_committed)
        return partition.log.read(
            wanted.fetch_offset, max_bytes, up_to=up_to, may_block=self._may_block
        )

    def endpoints(self) -> list[NodeEndpoint]:
        """Of the leaders that the answers name."""
        return (
            [] if self._hints is None else [NodeEndpoint(*it) for it in self._hints.nodes.values()]
        )

    def _read_partition(
        self, partition: Partition, target: FetchTarget, room: int, *, is_first: bool
    ) -> PartitionData:
        log, wanted = partition.log, target.wanted
        if self._version < _ZSTD_VERSION and log.config.compression_type == "zstd":
            return self._failed(target, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        divergence = (
            NO_DIVERGENCE if wanted.last_fetched_epoch < 0 else _divergence(partition, wanted)
        )
        data = PartitionData(
            wanted.partition,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            divergence,
            _NO_LEADER_HINT,
            _NO_SNAPSHOT,
            [] if self._read_committed else None,
            self._preferred(partition, wanted) if self._client_rack else NO_REPLICA,
            b"",
        )
        if divergence is not NO_DIVERGENCE or data.preferred_read_replica != NO_REPLICA:
            return data
        if not room and not is_first:
            return data
        read = self.read_log(partition, wanted, min(wanted.partition_max_bytes, room))
        # At least one batch is read whatever the limit: that is for the first partition only.
        if len(read) and (is_first or len(read) <= room):
            data.records = read
            if self._read_committed:
                self._name_aborted(data, partition, wanted)
        elif wanted.fetch_offset > log.high_watermark and _is_behind(partition):
            return self._failed(target, ErrorCode.OFFSET_NOT_AVAILABLE)
        return data

    def _name_aborted(
        self, data: PartitionData, partition: Partition, wanted: FetchPartition
    ) -> None:
        log = partition.log
        data.aborted_transactions = [
            AbortedTransaction(each.producer_id, each.first_offset)
            for each in log.aborted_transactions(wanted.fetch_offset, log.last_stable_offset)
        ]

    def _preferred(self, partition: Partition, wanted: FetchPartition) -> int:
        leadership = partition.leadership
        if leadership is None or self._version < _FOLLOWER_VERSION:
            return NO_REPLICA
        if wanted.fetch_offset < partition.log.log_start_offset:
            return NO_REPLICA  # to be told so here: whoever else is asked sends it back
        return preferred_replica(
            leadership,
            self._parts.view.node_id,
            wanted.fetch_offset,
            self._client_rack,
            self._rack_of,
        )

    def _rack_of(self, broker_id: int) -> str | None:
        node = self._parts.view.node(broker_id, self._context.peer.listener)
        return None if node is None else node.rack

    def _failed(self, target: FetchTarget, error: ErrorCode) -> PartitionData:
        if error is ErrorCode.KAFKA_STORAGE_ERROR and self._version < _STORAGE_ERROR_VERSION:
            # Clients of that time do not know it; this one makes them look for the leader again.
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        hint = _NO_LEADER_HINT
        if self._version >= _LEADER_HINT_VERSION and error in _HINTED:
            if self._hints is None:
                self._hints = LeaderHints(self._parts.view, self._context.peer.listener)
            index = target.wanted.partition
            hint = LeaderIdAndEpoch(*self._hints.leader_of(target.name, index, target.partition))
        return PartitionData(
            target.wanted.partition,
            error,
            -1,
            -1,
            -1,
            NO_DIVERGENCE,
            hint,
            _NO_SNAPSHOT,
            None,
            records=b"",
        )


def _is_behind(partition: Partition) -> bool:
    """A leader that may not know yet what was committed before it led."""
    leadership = partition.leadership
    return leadership is not None and partition.high_watermark < leadership.start_offset


def _divergence(partition: Partition, wanted: FetchPartition) -> EpochEndOffset:
    """Where the reader's log and this one part, if they do (KIP-595)."""
    log = partition.log
    epoch, end_offset = log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if epoch < 0 or end_offset < 0 or wanted.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRange(wanted.fetch_offset, log.log_start_offset, log.log_end_offset)
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return EpochEndOffset(epoch, end_offset)
    return NO_DIVERGENCE


def _out_of_range(partition: Partition, wanted: FetchPartition) -> ErrorCode:
    """Whoever knows no epoch may take a follower for the leader that it was.

    Such a reader would start anew, at the beginning or at the end, for records that are all there.
    """
    is_ahead = wanted.fetch_offset > partition.log.log_end_offset
    if is_ahead and not partition.is_leader and wanted.current_leader_epoch < 0:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.OFFSET_OUT_OF_RANGE
