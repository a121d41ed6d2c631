"""The indexes of the active segment, in memory while it grows.

They reach the disk when the segment is sealed or the log is closed. After a crash they are rebuilt
from the batches, which recovery reads anyway, so writing them more often would buy nothing. They
may run ahead of what is written: entries are made when batches are staged, and a lookup for a
written offset never meets a later one.
"""

from barnabas_core.log.index.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from barnabas_core.log.index.offset_index import OffsetIndex
from barnabas_core.log.index.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas_core.log.index.time_index import TimeIndex, TimestampOffset
from barnabas_core.log.index.transaction_index import AbortedTransaction, encode_aborted
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import LENGTH_OVERHEAD_BYTES, BatchHeader


class ActiveIndex:
    __slots__ = ("_bytes_since_entry", "aborted", "newest", "offsets", "times")

    def __init__(self, base_offset: int, offsets: Buffer = b"", times: Buffer = b"") -> None:
        self.offsets = OffsetIndex(base_offset, offsets)
        self.times = TimeIndex(base_offset, times)
        self.aborted: list[AbortedTransaction] = []
        # The largest timestamp and the last offset of the batch that brought it.
        self.newest = self.times.last
        self._bytes_since_entry = 0

    def on_batch(
        self, header: BatchHeader, last_offset: int, position: int, interval_bytes: int
    ) -> None:
        """The batch ends at `last_offset` (its own may not be final) and lies at `position`."""
        # A batch that compaction emptied has no record to be found by its time.
        if header.max_timestamp > self.newest.timestamp_ms and header.record_count:
            self.newest = TimestampOffset(header.max_timestamp, last_offset)
        if self._bytes_since_entry > interval_bytes:
            self.offsets.append(last_offset, position)
            self.times.maybe_append(*self.newest)
            self._bytes_since_entry = 0
        self._bytes_since_entry += LENGTH_OVERHEAD_BYTES + header.batch_length

    def is_full(self, index_bytes_max: int) -> bool:
        """One entry of the time index, which has the larger ones, is kept for the segment's end."""
        # There are never more of those than of the others, so one look at these is enough mostly.
        count = len(self.offsets)
        if (count + 1) * TIME_ENTRY_BYTES < index_bytes_max:
            return False
        if count >= index_bytes_max // OFFSET_ENTRY_BYTES:
            return True
        return len(self.times) >= index_bytes_max // TIME_ENTRY_BYTES - 1

    @property
    def size_bytes(self) -> int:
        """Of the two large files."""
        return OFFSET_ENTRY_BYTES * len(self.offsets) + TIME_ENTRY_BYTES * len(self.times)

    def truncate(self, offset: int) -> None:
        self.offsets.truncate(offset)
        self.times.truncate(offset)
        self.aborted = [it for it in self.aborted if it.last_offset < offset]
        # Possibly too small now: whoever truncates goes over the batches after the last entry.
        self.newest = self.times.last
        self._bytes_since_entry = 0

    def on_truncated(self, header: BatchHeader) -> None:
        """A batch after the last entry that is still there after `truncate`."""
        if header.max_timestamp > self.newest.timestamp_ms and header.record_count:
            self.newest = TimestampOffset(header.max_timestamp, header.last_offset)
        self._bytes_since_entry += header.size_bytes

    def encode(self) -> tuple[bytes, bytes, bytes]:
        """The contents of `.index`, `.timeindex` and `.txnindex` of a segment that is complete."""
        self.times.maybe_append(*self.newest)
        aborted = b"".join([encode_aborted(it) for it in self.aborted])
        return self.offsets.encode(), self.times.encode(), aborted
