"""One partition that this broker leads.

With one replica the high watermark is the end of what is written. Appends are acknowledged in two
steps: `append` stages the records and says where they will be, and `when_written` tells once they
are in the file. A log whose directory failed refuses everything; whoever waits is told.
"""

from collections import deque
from typing import Protocol

from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.wire.error_code import ErrorCode

UNKNOWN_LEADER_EPOCH = -1


class WriteWaiter(Protocol):
    """Told once per `when_written`, with the token given there."""

    def on_written(self, token: int) -> None: ...

    def on_write_failed(self, token: int) -> None: ...


class Partition:
    __slots__ = ("_waiters", "is_dirty", "is_offline", "is_writing", "leader_epoch", "log")

    def __init__(self, log: PartitionLog, leader_epoch: int = 0) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self.is_dirty = False  # staged since the last write began
        self.is_writing = False
        self.is_offline = False
        # (last offset, waiter, token) in the order in which they were staged
        self._waiters: deque[tuple[int, WriteWaiter, int]] = deque()

    def __repr__(self) -> str:
        return f"Partition({self.log!r})"

    @property
    def config(self) -> LogConfig:
        return self.log.config

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    def visible_end(self, *, read_committed: bool) -> int:
        """The offset up to which a consumer may read."""
        return self.log.last_stable_offset if read_committed else self.log.high_watermark

    def check_leader_epoch(self, claimed: int) -> ErrorCode:
        """What a client knows of the leader must not be older or newer than this one (KIP-320)."""
        if claimed in (UNKNOWN_LEADER_EPOCH, self.leader_epoch):
            return ErrorCode.NONE
        if claimed < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def epoch_at(self, offset: int) -> int:
        """Of the leader that wrote the record at `offset`, -1 if that is not known."""
        return self.log.epochs.epoch_for(offset)

    def when_written(self, last_offset: int, waiter: WriteWaiter, token: int) -> None:
        """Tell `waiter` when everything up to `last_offset` is written, which it is not yet."""
        assert last_offset >= self.log.log_end_offset
        self._waiters.append((last_offset, waiter, token))

    def on_written(self) -> None:
        """The log's end has moved."""
        end = self.log.log_end_offset
        self.log.advance_high_watermark(end)
        waiters = self._waiters
        while waiters and waiters[0][0] < end:
            _, waiter, token = waiters.popleft()
            waiter.on_written(token)

    def go_offline(self) -> None:
        """The log is lost: nobody will ever be told that it was written."""
        self.is_offline = True
        waiters, self._waiters = self._waiters, deque()
        for _, waiter, token in waiters:
            waiter.on_write_failed(token)
