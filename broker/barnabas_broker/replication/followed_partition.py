"""A partition that this broker follows, between its log and the stream from its leader.

WANTED ──update sent──> ASKED ──accepted──> FOLLOWING
  ^                       │ diverged, out of range: truncate, then WANTED
  └───────────────────────┴── any trouble: WANTED again, a while later
"""

from enum import Enum
from typing import TYPE_CHECKING, Final

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.replication.message import Ack, Subscribe
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import split_batches

if TYPE_CHECKING:
    from barnabas_broker.replication.leader_stream import LeaderStream

NO_SUBSCRIPTION: Final = 0


class Phase(Enum):
    WANTED = "wanted"
    ASKED = "asked"
    FOLLOWING = "following"
    RESTING = "resting"
    """Being truncated, or waiting before the next attempt."""


class FollowedPartition:
    """A `Following`."""

    __slots__ = ("high_watermark", "leader_epoch", "partition", "phase", "stream", "subscription")

    def __init__(self, partition: Partition, leader_epoch: int, stream: "LeaderStream") -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.stream = stream
        self.phase = Phase.WANTED
        self.subscription = NO_SUBSCRIPTION
        self.high_watermark = -1
        """The leader's, as last heard."""

    @property
    def is_current(self) -> bool:
        return self.partition.following is self and not self.partition.log.is_offline

    @property
    def is_settled(self) -> bool:
        """Whether all that was staged is in the file: only then is it known where the log ends."""
        log = self.partition.log
        return not self.partition.is_writing and log.staged_end_offset == log.log_end_offset

    def request(self, subscription: int) -> Subscribe:
        log = self.partition.log
        self.subscription = subscription
        return Subscribe(
            subscription,
            log.topic_id,
            log.partition,
            self.leader_epoch,
            max(log.log_end_offset, log.log_start_offset),
            log.epochs.latest_epoch,
        )

    def start_within(self, records: Buffer) -> int | None:
        """Where the first batch begins, if this empty log begins within it.

        Records can be deleted up to the middle of a batch, but batches come whole.
        """
        log = self.partition.log
        first = next(iter(split_batches(records, allow_partial_tail=True)), None)
        if first is None or log.log_start_offset != log.staged_end_offset:
            return None
        header = first[1]
        is_within = header.base_offset < log.staged_end_offset <= header.last_offset
        return header.base_offset if is_within else None

    def ack(self) -> Ack:
        log = self.partition.log
        return Ack(self.subscription, log.log_end_offset, log.log_start_offset)

    @property
    def lag(self) -> int:
        """Committed records that it does not have, as far as it knows."""
        return self.high_watermark - self.partition.log.log_end_offset

    def on_written(self) -> None:
        self.partition.show_up_to(self.high_watermark)
        self.stream.on_written(self)

    def on_state(self, high_watermark: int, log_start: int) -> bool:
        """What the leader tells of itself; False: this log has nothing in common with it."""
        log = self.partition.log
        self.high_watermark = high_watermark
        self.partition.show_up_to(high_watermark)
        if log_start > max(log.log_end_offset, log.log_start_offset):
            return False
        start = min(log_start, log.high_watermark)
        if start > log.log_start_offset:
            log.advance_log_start(start)
            self.stream.on_written(self)  # whoever deleted the records waits to hear of it
        return True
