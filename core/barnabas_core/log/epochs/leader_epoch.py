"""Which leader epoch wrote which offsets of one partition (KIP-101, KIP-279, KIP-320).

The cache is a list of (epoch, start offset), both strictly rising: an epoch's records end where
the next one's start. Followers and consumers ask `end_offset_for` to find the offset up to which
two logs agree. Pure: whoever owns it writes `entries` to the `leader-epoch-checkpoint` file
whenever a mutator returns True.

An entry exists only for epochs that wrote something, so a new leader's epoch is assigned with its
first batch (or with its log end when it becomes leader, which the next leader's entry replaces if
nothing was written).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochCache:
    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    @property
    def entries(self) -> list[EpochEntry]:
        return [EpochEntry(*entry) for entry in zip(self._epochs, self._starts, strict=True)]

    @property
    def latest_epoch(self) -> int:
        """-1 if no epoch is known."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    @property
    def previous_epoch(self) -> int:
        """The epoch before the latest, -1 if there is none."""
        return self._epochs[-2] if len(self._epochs) > 1 else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` writes from `start_offset` on; True if the entries changed.

        The newest word wins: entries with a higher epoch or a later start contradict it and go,
        so the list stays strictly rising even after an unclean election brought an older epoch
        back.
        """
        assert epoch >= 0, f"leader epoch {epoch}"
        assert start_offset >= 0, f"start offset {start_offset} of leader epoch {epoch}"
        epochs, starts = self._epochs, self._starts
        if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
            return False
        keep = min(bisect_left(epochs, epoch), bisect_left(starts, start_offset))
        del epochs[keep:], starts[keep:]
        epochs.append(epoch)
        starts.append(start_offset)
        return True

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """(largest known epoch <= `epoch`, the offset where it ends); (-1, -1) if undefined.

        Undefined: `epoch` is -1, or newer than any known one. Older than any known one answers
        (epoch, first known start): those records are gone, and a follower may go on from the
        log's start.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end
        following = bisect_right(self._epochs, epoch)
        found = self._epochs[following - 1] if following else epoch
        return found, self._starts[following]

    def epoch_for(self, offset: int) -> int:
        """The epoch that wrote `offset`, the latest for one past the log end; -1 if unknown."""
        following = bisect_right(self._starts, offset)
        return self._epochs[following - 1] if following else UNDEFINED_EPOCH

    def truncate_from_end(self, log_end: int) -> bool:
        """Forget epochs that start at or after the new `log_end`; True if the entries changed."""
        keep = bisect_left(self._starts, log_end)
        if keep == len(self._starts):
            return False
        del self._epochs[keep:], self._starts[keep:]
        return True

    def truncate_from_start(self, log_start: int) -> bool:
        """Forget epochs that end before the new `log_start`; True if the entries changed.

        The one that spans `log_start` starts there from now on.
        """
        spanning = bisect_right(self._starts, log_start) - 1
        if spanning < 0 or (spanning == 0 and self._starts[0] == log_start):
            return False
        del self._epochs[:spanning], self._starts[:spanning]
        self._starts[0] = log_start
        return True

    def clear(self) -> None:
        self._epochs.clear()
        self._starts.clear()
