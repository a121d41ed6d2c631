"""A rewritten segment on its way into a log that is being read and written meanwhile.

The steps of `swap`, cut into those that wait for the disk, for a thread, and those that change what
readers see, for the log's owner. In this order, without anything between that truncates, deletes
or closes the log::

    commit(), sync()  thread: `.cleaned` becomes `.swap`
    take_place()      owner:  the log consists of the new segment, under its `.swap` name
    retire(), sync()  thread: the files of the old ones go
    finish()          owner:  the new one gets its final name
    sync()            thread

Only `sync` takes a file descriptor; where there is none, it may be tried again. A `DiskError` of
any other kind means what it always means: the directory goes offline, its files stay as they are,
and a restart puts them in order, whatever the point.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas_core.log.cleaner.clean import CleanedGroup
from barnabas_core.log.cleaner.error import CleaningAborted
from barnabas_core.log.cleaner.swap import (
    RENAMED_SUFFIXES,
    Step,
    Sync,
    plan_commit,
    plan_finish,
    plan_retire,
    run_steps,
)
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.producers.producer_tracker import ProducerTracker
from barnabas_core.log.segments.file_name import DELETED, LOG, PRODUCER_SNAPSHOT, SWAP, file_name
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.segments.segment_store import SegmentStore
from barnabas_core.log.segments.tail_cache import Tail


class SwappedSegment(Segment):
    """A segment whose files have yet to get their final names."""

    __slots__ = ("state",)

    def __init__(self, dir_path: str, group: CleanedGroup) -> None:
        super().__init__(dir_path, group.base_offset, size_bytes=group.size_bytes)
        self.has_aborted = group.has_aborted
        self.state = SWAP

    def path(self, suffix: str) -> str:
        return super().path(suffix) + self.state


@dataclass(frozen=True, slots=True)
class LogParts:
    """What of an open log knows of its segments."""

    environment: LogEnvironment
    store: SegmentStore
    tracker: ProducerTracker
    tail: Tail


class Replacement:
    __slots__ = ("_delete_at_ms", "_group", "_old", "_parts", "_segment", "_store")

    def __init__(self, parts: LogParts, group: CleanedGroup, delete_at_ms: int) -> None:
        """`CleaningAborted` if the log no longer consists of what was rewritten."""
        self._parts = parts
        self._store = parts.store
        self._group = group
        self._delete_at_ms = delete_at_ms
        self._old = _find_replaced(parts.store.segments, group)
        self._segment = SwappedSegment(parts.store.dir_path, group)

    def commit(self) -> None:
        self._rename(plan_commit(self._group.base_offset))

    def take_place(self) -> None:
        segments = self._store.segments
        index = segments.index(self._old[0])
        following = index + len(self._old)
        assert segments[index:following] == self._old, "the log changed meanwhile"
        with self._store.changing():
            self._forget_old(segments[following].base_offset)
            segments[index:following] = [self._segment]

    def _forget_old(self, end_offset: int) -> None:
        """Leave nothing of the old segments in any cache."""
        parts = self._parts
        for segment in self._old:
            for suffix in RENAMED_SUFFIXES:
                parts.environment.files.drop(segment.path(suffix))
        for segment in self._old[1:]:
            if segment.base_offset in parts.tracker.snapshot_offsets:
                parts.tracker.snapshot_offsets.remove(segment.base_offset)
        if parts.tail.holds(end_offset - 1):
            # It still has aborted data whose entry in the transaction index is gone.
            parts.environment.tails.drop(parts.tail)

    def retire(self) -> None:
        suffixes = (*RENAMED_SUFFIXES, PRODUCER_SNAPSHOT)
        names = [file_name(it.base_offset, suffix) for it in self._old for suffix in suffixes]
        self._rename(plan_retire(self._group.base_offset, names))

    def finish(self) -> None:
        with self._store.changing():
            for suffix in RENAMED_SUFFIXES:
                self._parts.environment.files.drop(self._segment.path(suffix))
            self._rename(plan_finish(self._group.base_offset))
            self._segment.state = ""
        for segment in self._old:
            self._store.doom(segment.path(LOG) + DELETED, self._delete_at_ms)

    def sync(self) -> None:
        self._run([Sync()])

    def _rename(self, steps: Iterable[Step]) -> None:
        """All of `steps` but the sync at their end, which the caller does."""
        self._run([step for step in steps if not isinstance(step, Sync)])

    def _run(self, steps: Iterable[Step]) -> None:
        run_steps(self._parts.environment.disk, self._store.dir_path, steps)


def _find_replaced(segments: Sequence[Segment], group: CleanedGroup) -> list[Segment]:
    bases = {base for base, _ in group.replaced}
    # The last one is the active one, which is nobody's to replace.
    found = [it for it in segments[:-1] if it.base_offset in bases and it.active is None]
    if [(it.base_offset, it.size_bytes) for it in found] != list(group.replaced):
        raise CleaningAborted(f"segments from {group.base_offset} on changed meanwhile")
    return found
