"""One partition that this broker keeps: as its leader, or as a follower of another broker.

Records are staged in the log first; `when_written` tells once they are in this broker's file, and
`when_committed` once every replica that is in sync has them too: when the high watermark has passed
them. A log whose directory failed refuses everything; whoever waits is told, as is whoever waits
for a leader that leads no more.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from barnabas_broker.partitions.leadership import Leadership
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.metadata.partition_image import NO_LEADER, PartitionImage
from barnabas_core.wire.error_code import ErrorCode

UNKNOWN_LEADER_EPOCH = -1
ALL_IN_SYNC = -1
"""acks=all."""


class WriteWaiter(Protocol):
    """Told once per `when_written` or `when_committed`, with the token given there."""

    def on_written(self, token: int) -> None: ...

    def on_write_failed(self, token: int, error: ErrorCode) -> None: ...


class Following(Protocol):
    """The replication of a partition that another broker leads."""

    def on_written(self) -> None:
        """What had come is in the file."""
        ...


Waiters = deque[tuple[int, WriteWaiter, int]]
"""(last offset, waiter, token) in the order in which they were staged."""


class Partition:
    __slots__ = (
        "_awaiting_commit",
        "_awaiting_write",
        "_on_advanced",
        "following",
        "is_dirty",
        "is_offline",
        "is_writing",
        "leader_epoch",
        "leader_id",
        "leadership",
        "log",
    )

    def __init__(
        self, log: PartitionLog, on_advanced: Callable[["Partition"], None] = lambda _: None
    ) -> None:
        """`on_advanced`: readers can see more of it."""
        self.log = log
        self._on_advanced = on_advanced
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.leadership: Leadership | None = None
        """While this broker leads it."""
        self.following: Following | None = None
        """While it follows another."""
        self.is_dirty = False  # staged since the last write began
        self.is_writing = False
        self.is_offline = False
        self._awaiting_write: Waiters = deque()
        self._awaiting_commit: Waiters = deque()

    def __repr__(self) -> str:
        return f"Partition({self.log!r})"

    @property
    def config(self) -> LogConfig:
        return self.log.config

    @property
    def is_leader(self) -> bool:
        return self.leadership is not None

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def low_watermark(self) -> int:
        """Below it every live replica has deleted its records."""
        start = self.log.log_start_offset
        return start if self.leadership is None else self.leadership.low_watermark(start)

    @property
    def waiting_count(self) -> int:
        """Batches whose producers wait for them to be written or replicated."""
        return len(self._awaiting_write) + len(self._awaiting_commit)

    def visible_end(self, *, read_committed: bool) -> int:
        """The offset up to which a consumer may read."""
        return self.log.last_stable_offset if read_committed else self.log.high_watermark

    def epoch_at(self, offset: int) -> int:
        """Of the leader that wrote the record at `offset`, -1 if that is not known."""
        return self.log.epochs.epoch_for(offset)

    # --- its role

    def lead(self, local_id: int, image: PartitionImage, now_ms: int) -> None:
        """This broker leads it, in this epoch and with these replicas."""
        leadership = self.leadership
        if leadership is None or image.leader_epoch != self.leader_epoch:
            # Whoever waits on the leader of an earlier epoch waits for what may have been undone.
            self._fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            leadership = self.leadership = Leadership(local_id, self.log.staged_end_offset)
            if not self.log.is_offline:
                self.log.assign_epoch(image.leader_epoch)
        self.following = None
        self.leader_id = local_id
        self.leader_epoch = image.leader_epoch
        leadership.update(image, now_ms)
        self.advance()

    def follow(self, image: PartitionImage) -> None:
        self.resign()
        self.leader_id = image.leader
        self.leader_epoch = image.leader_epoch

    def resign(self) -> None:
        self.leadership = None
        self.leader_id = NO_LEADER
        self._fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_leader(self, claimed_epoch: int) -> ErrorCode:
        """Is this the leader, in the epoch that the client knows of (KIP-320)?"""
        if claimed_epoch != UNKNOWN_LEADER_EPOCH:
            if claimed_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if claimed_epoch > self.leader_epoch:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        if self.leadership is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def check_append(self, acks: int) -> ErrorCode:
        leadership = self.leadership
        if leadership is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if acks == ALL_IN_SYNC and leadership.is_under_min_isr(self.config.min_insync_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return ErrorCode.NONE

    # --- who waits

    def when_written(self, last_offset: int, waiter: WriteWaiter, token: int) -> None:
        """Tell `waiter` when everything up to `last_offset` is written, which it is not yet."""
        assert last_offset >= self.log.log_end_offset
        self._awaiting_write.append((last_offset, waiter, token))

    def when_committed(self, last_offset: int, waiter: WriteWaiter, token: int) -> None:
        """Tell `waiter` when the high watermark has passed `last_offset`, which it has not yet."""
        assert last_offset >= self.log.high_watermark
        self._awaiting_commit.append((last_offset, waiter, token))

    def on_written(self) -> None:
        """The log's end has moved."""
        _tell(self._awaiting_write, self.log.log_end_offset)
        if self.leadership is not None:
            if not self.advance():
                self.leadership.wake_subscribers()
        elif self.following is not None:
            self.following.on_written()

    def on_acked(self, broker_id: int, offset: int, now_ms: int) -> None:
        """A follower's log ends at `offset` now."""
        if self.leadership is not None:
            self.leadership.on_acked(broker_id, offset, self.log.log_end_offset, now_ms)
            self.advance()

    def on_log_start(self, broker_id: int, offset: int) -> None:
        """A follower has deleted what is below `offset`."""
        if self.leadership is not None and self.leadership.on_log_start(broker_id, offset):
            self._on_advanced(self)  # somebody may wait for just that

    def advance(self) -> bool:
        """As a leader: let readers see what is committed; whether that is more than before."""
        leadership = self.leadership
        if leadership is None or self.log.is_offline:
            return False
        high_watermark = leadership.high_watermark(
            self.log.log_end_offset, self.config.min_insync_replicas
        )
        if high_watermark <= self.log.high_watermark:
            return False
        self.show_up_to(high_watermark)
        leadership.wake_subscribers()
        return True

    def on_log_start_moved(self) -> None:
        """Records were deleted: followers are to delete them, too."""
        if self.leadership is not None:
            self.leadership.wake_subscribers()

    def show_up_to(self, high_watermark: int) -> None:
        """The high watermark as the leader has it; as far as this log goes."""
        if self.log.advance_high_watermark(high_watermark):
            _tell(self._awaiting_commit, self.log.high_watermark)
            self._on_advanced(self)

    def go_offline(self) -> None:
        """The log is lost: nobody will ever be told that it was written."""
        self.is_offline = True
        self._fail(ErrorCode.KAFKA_STORAGE_ERROR)

    def _fail(self, error: ErrorCode) -> None:
        waiters = [*self._awaiting_write, *self._awaiting_commit]
        self._awaiting_write.clear()
        self._awaiting_commit.clear()
        for _, waiter, token in waiters:
            waiter.on_write_failed(token, error)


def _tell(waiters: Waiters, end_offset: int) -> None:
    while waiters and waiters[0][0] < end_offset:
        _, waiter, token = waiters.popleft()
        waiter.on_written(token)
