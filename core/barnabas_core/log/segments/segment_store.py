"""The segments of one partition, oldest first, and their files: finding, retiring, truncating.

There is always at least one; the last is the active one. A retired segment's `.log` gets the suffix
`.deleted` and goes after `file.delete.delay.ms`, because somebody may be reading it; its other
files go at once.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from barnabas_core.log.index.transaction_index import AbortedTransaction, overlapping_aborted
from barnabas_core.log.retention import SegmentView
from barnabas_core.log.segments.file_cache import FileCache
from barnabas_core.log.segments.file_name import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from barnabas_core.log.segments.scan import scan_headers
from barnabas_core.log.segments.segment import Segment
from barnabas_core.ports import Disk, DiskError
from barnabas_core.records.batch import CorruptBatch

T = TypeVar("T")
_BASE_OFFSET = attrgetter("base_offset")
_INDEXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)


@dataclass(slots=True)
class RetireJob:
    """Segments' files on their way out, in this order; `run` blocks and is thread-safe.

    Each one's end is durable before its indexes and the next one go: were it to come back after a
    crash, then as it was, and without a gap next to it.
    """

    disk: Disk
    dir_path: str
    base_offsets: list[int]
    obsolete: list[str] = field(default_factory=list)
    """What else goes afterwards."""

    def run(self) -> None:
        for base_offset in self.base_offsets:
            path = f"{self.dir_path}/{file_name(base_offset, LOG)}"
            self.disk.rename(path, path + DELETED)
            self.disk.sync_dir(self.dir_path)
            for suffix in _INDEXES:
                self.disk.remove(f"{self.dir_path}/{file_name(base_offset, suffix)}")
        for path in self.obsolete:
            self.disk.remove(path)


class SegmentStore:
    __slots__ = ("_change_count", "_disk", "_doomed", "_files", "dir_path", "segments")

    def __init__(
        self, disk: Disk, files: FileCache, dir_path: str, segments: list[Segment]
    ) -> None:
        assert segments, "a log has an active segment"
        self._disk = disk
        self._files = files
        self.dir_path = dir_path
        self.segments = segments
        # Even, unless segments are being renamed or replaced right now: see `look_up`.
        self._change_count = 0
        # (when, path) of retired files.
        self._doomed: list[tuple[int, str]] = []

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def index_of(self, offset: int) -> int:
        """The segment whose range holds `offset`; the first one for anything before."""
        return max(bisect_right(self.segments, offset, key=_BASE_OFFSET) - 1, 0)

    def from_offset(self, offset: int) -> list[Segment]:
        return self.segments[self.index_of(offset) :]

    def end_of(self, index: int, log_end_offset: int) -> int:
        """The offset after the segment at `index`: the next one's base."""
        following = index + 1
        return (
            self.segments[following].base_offset
            if following < len(self.segments)
            else log_end_offset
        )

    def aborted(self, start_offset: int, up_to: int) -> list[AbortedTransaction]:
        segments = self.from_offset(start_offset)
        return overlapping_aborted(
            (segment.aborted(self._files) for segment in segments), start_offset, up_to
        )

    def views(self, log_end_offset: int, *, with_first_timestamps: bool) -> Iterator[SegmentView]:
        """The segments as retention and the cleaner see them.

        First timestamps are in the `.log` files: opening all of them is for who needs it.
        """
        for index, segment in enumerate(self.segments):
            newest_ms = segment.newest(self._files).timestamp_ms
            yield SegmentView(
                base_offset=segment.base_offset,
                next_offset=self.end_of(index, log_end_offset),
                size_bytes=segment.size_bytes,
                largest_timestamp_ms=newest_ms,
                modified_at_ms=0 if newest_ms >= 0 else self._modified_at_ms(segment),
                first_timestamp_ms=(
                    segment.first_timestamp_ms(self._files) if with_first_timestamps else -1
                ),
            )

    def _modified_at_ms(self, segment: Segment) -> int:
        if not segment.size_bytes:  # it may be staged only
            return segment.created_at_ms
        return self._disk.modified_ms(segment.path(LOG))

    def begin_retire(self, segments: list[Segment], delete_at_ms: int) -> RetireJob:
        """Take segments out of the log; their readers have until `delete_at_ms`.

        The job must run before the log is closed, truncated or recovered.
        """
        job = RetireJob(self._disk, self.dir_path, [segment.base_offset for segment in segments])
        with self.changing():
            for segment in segments:
                self.segments.remove(segment)
                self._forget(segment)
                self.doom(segment.path(LOG) + DELETED, delete_at_ms)
        return job

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around whatever takes segments out of the log or renames their files; for the owner."""
        self._change_count += 1
        try:
            yield
        finally:
            self._change_count += 1

    def look_up(self, find: Callable[[list[Segment]], T]) -> T:
        """What `find` finds in the segments; it may run in a thread, while they change.

        Then it may have met a file that is gone, or an index that belongs to another file: whatever
        it says does not count, and it is asked again.
        """
        while True:
            change_count = self._change_count
            segments = list(self.segments)
            try:
                found = find(segments)
            except (DiskError, CorruptBatch):
                if change_count % 2 == 0 and change_count == self._change_count:
                    raise
            else:
                if change_count % 2 == 0 and change_count == self._change_count:
                    return found

    def doom(self, path: str, delete_at_ms: int) -> None:
        """Have `reap` delete a file that is no part of the log any more."""
        self._doomed.append((delete_at_ms, path))

    def take_due(self, now_ms: int) -> list[str]:
        """The files that were retired long enough ago, for the caller to remove."""
        due = [path for at_ms, path in self._doomed if at_ms <= now_ms]
        self._doomed = [it for it in self._doomed if it[0] > now_ms]
        return due

    def truncate_active(self, offset: int) -> int:
        """Cut the active segment before the batch with `offset`; the offset where it then ends."""
        segment = self.active
        active = segment.activate(self._files)
        file = segment.file(self._files)
        found = segment.find(self._files, file.read_at, offset)
        if found is None:
            return offset
        with self.changing():
            file.truncate(found.position)
            segment.size_bytes = segment.staged_bytes = found.position
            active.truncate(offset)
        position = active.offsets.lookup(offset)
        for batch in scan_headers(file.read_at, position, segment.size_bytes):
            active.on_truncated(batch.header)
        return min(offset, found.header.base_offset)

    def move(self, dir_path: str) -> None:
        """The partition's directory is about to be renamed."""
        self.forget()
        self.dir_path = dir_path
        for segment in self.segments:
            segment.dir_path = dir_path

    def forget(self) -> None:
        """Leave nothing in the caches."""
        for segment in self.segments:
            self._forget(segment)

    def _forget(self, segment: Segment) -> None:
        for suffix in (LOG, *_INDEXES):
            self._files.drop(segment.path(suffix))
