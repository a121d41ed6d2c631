"""One segment of a partition: a `.log` file with batches from a base offset on, and its indexes.

A closed segment is a few numbers; what else it knows is in its files and read through the caches
when asked for. The active one also has its indexes in memory (`ActiveIndex`). The log writes; a
segment only finds.
"""

from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.offset_index import lookup_position
from barnabas_core.log.index.time_index import TimestampOffset, last_entry, lookup_offset
from barnabas_core.log.index.transaction_index import AbortedTransaction, decode_aborted
from barnabas_core.log.segments.file_cache import FileCache
from barnabas_core.log.segments.file_name import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from barnabas_core.log.segments.scan import PositionedHeader, ReadAt, find_batch, scan_headers
from barnabas_core.ports import File
from barnabas_core.records.batch import HEADER_BYTES, NO_TIMESTAMP, parse_header


class Segment:
    __slots__ = (
        "_first_timestamp_ms",
        "_newest",
        "active",
        "base_offset",
        "created_at_ms",
        "dir_path",
        "has_aborted",
        "size_bytes",
        "staged_bytes",
    )

    def __init__(
        self, dir_path: str, base_offset: int, *, size_bytes: int = 0, created_at_ms: int = 0
    ) -> None:
        self.dir_path = dir_path
        self.base_offset = base_offset
        # What is written; `staged_bytes` counts what will be.
        self.size_bytes = size_bytes
        self.staged_bytes = size_bytes
        self.created_at_ms = created_at_ms
        self.active: ActiveIndex | None = None
        # Whether there is a `.txnindex`: most segments never see an abort.
        self.has_aborted = False
        self._newest: TimestampOffset | None = None
        self._first_timestamp_ms: int | None = None

    @property
    def has_staged(self) -> bool:
        """Whether its indexes know of batches that are not written yet."""
        return self.staged_bytes != self.size_bytes

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)}, {self.size_bytes} bytes)"

    def path(self, suffix: str) -> str:
        return f"{self.dir_path}/{file_name(self.base_offset, suffix)}"

    def file(self, files: FileCache) -> File:
        return files.file(self.path(LOG))

    # Finding

    def position_before(self, files: FileCache, offset: int) -> int:
        """A position at or before the batch with `offset`; what lies before ends before it."""
        if self.active is not None:
            return self.active.offsets.lookup(offset)
        return lookup_position(files.view(self.path(OFFSET_INDEX)), self.base_offset, offset)

    def find(self, files: FileCache, read_at: ReadAt, offset: int) -> PositionedHeader | None:
        """The first batch that ends at or after `offset`."""
        position = self.position_before(files, offset)
        return find_batch(read_at, position, self.size_bytes, offset)

    def offset_before_timestamp(self, files: FileCache, timestamp_ms: int) -> int:
        """An offset before which no batch of this segment reaches `timestamp_ms`."""
        if self.active is not None:
            return self.active.times.lookup(timestamp_ms)
        return lookup_offset(files.view(self.path(TIME_INDEX)), self.base_offset, timestamp_ms)

    def newest(self, files: FileCache) -> TimestampOffset:
        """The largest timestamp and the last offset of its batch; timestamp -1 if there is none."""
        if self.active is not None:
            return self.active.newest
        if self._newest is None:
            self._newest = last_entry(files.view(self.path(TIME_INDEX)), self.base_offset)
        return self._newest

    def first_timestamp_ms(self, files: FileCache) -> int:
        """The first batch's timestamp, from which the age of the segment counts; -1 if unknown."""
        if self._first_timestamp_ms is None:
            if self.size_bytes < HEADER_BYTES:
                return NO_TIMESTAMP
            header = self.file(files).read_at(0, HEADER_BYTES)
            self._first_timestamp_ms = parse_header(header).max_timestamp
        return self._first_timestamp_ms

    def note_first_timestamp(self, timestamp_ms: int) -> None:
        if self._first_timestamp_ms is None:
            self._first_timestamp_ms = timestamp_ms

    def aborted(self, files: FileCache) -> list[AbortedTransaction]:
        if self.active is not None:
            return self.active.aborted
        return self._stored_aborted(files)

    def _stored_aborted(self, files: FileCache) -> list[AbortedTransaction]:
        if not self.has_aborted:
            return []
        return decode_aborted(files.view(self.path(TRANSACTION_INDEX)))

    def end_offset(self, files: FileCache) -> int:
        """The offset after the last batch, found from the last index entry on."""
        position = self.position_before(files, 2**63 - 1)
        end_offset = self.base_offset
        for found in scan_headers(self.file(files).read_at, position, self.size_bytes):
            end_offset = found.header.next_offset
        return end_offset

    # Changing sides

    def activate(self, files: FileCache) -> ActiveIndex:
        """Take the indexes into memory, to append to them."""
        if self.active is None:
            active = ActiveIndex(
                self.base_offset,
                files.view(self.path(OFFSET_INDEX)),
                files.view(self.path(TIME_INDEX)),
            )
            active.aborted = self._stored_aborted(files)
            self.active = active
            for suffix in (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX):
                files.drop(self.path(suffix))
        return self.active

    def seal(self) -> None:
        """Its index files are on the disk: from now on they are read from there."""
        assert self.active is not None
        self._newest = self.active.newest
        self.has_aborted = bool(self.active.aborted)
        self.active = None
