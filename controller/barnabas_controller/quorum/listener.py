"""The state machine behind a quorum, as its driver sees it.

While this node does not lead, committed batches come through `on_batch`, in the order of the log;
a snapshot first where the log starts with one. `on_active` ends that: from then on the listener
makes the records itself, replays them as it makes them, and hears with `on_committed` how far they
are safe. `on_inactive` takes it back to the last committed state, and `on_batch` goes on there.

All of it is called on the event loop and must not wait; one call should take well under 5 ms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from barnabas_core.metadata.feed import MetadataSink
from barnabas_core.ports.disk import Buffer
from barnabas_core.raft.message import LeaderNews


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """The state at `end_offset`, which is committed; `batches` may be drawn later, bit by bit.

    So they must come from something that no longer changes.
    """

    end_offset: int
    last_appended_at_ms: int
    """The time of the last record that is in it."""
    batches: Iterator[Sequence[Buffer]]
    """Values of metadata records; each item becomes one batch."""


class QuorumListener(MetadataSink, Protocol):
    def on_active(self, epoch: int, end_offset: int) -> None:
        """This node leads, and everything before `end_offset` was handed over.

        The next append goes there.
        """
        ...

    def on_committed(self, end_offset: int) -> None:
        """While active: what this node appended below `end_offset` is committed.

        Its own batches do not come through `on_batch`.
        """
        ...

    def on_inactive(self) -> None:
        """It was active and is no more: fall back to what `on_committed` named last."""
        ...

    def on_leader(self, news: LeaderNews) -> None:
        """The leader became known, changed, or was lost."""
        ...

    def begin_snapshot(self) -> SnapshotSource | None:
        """The committed state, to be written out; None if that is not possible now."""
        ...
