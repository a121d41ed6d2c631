"""The rewritten segment: four `.cleaned` files, whole and synced before anybody looks."""

from barnabas_core.log.cleaner.grouping import SegmentFiles
from barnabas_core.log.cleaner.swap import RENAMED_SUFFIXES
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.index import offset_index, time_index
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.segments.file_name import (
    CLEANED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from barnabas_core.ports import Buffer, Disk
from barnabas_core.records.batch import parse_header


class CleanedSegment:
    __slots__ = (
        "_base_offset",
        "_buffer",
        "_buffer_bytes",
        "_disk",
        "_dropped",
        "_end_offset",
        "_file",
        "_index",
        "_interval_bytes",
        "_paths",
        "_throttle",
        "_written_bytes",
        "is_changed",
    )

    def __init__(
        self,
        disk: Disk,
        dir_path: str,
        base_offset: int,
        throttle: Throttle,
        *,
        interval_bytes: int,
        buffer_bytes: int,
    ) -> None:
        self._base_offset = self._end_offset = base_offset
        self._dropped: Buffer | None = None
        self.is_changed = False
        self._disk = disk
        self._throttle = throttle
        self._interval_bytes = interval_bytes
        self._buffer_bytes = buffer_bytes
        self._paths = {
            suffix: f"{dir_path}/{file_name(base_offset, suffix)}{CLEANED}"
            for suffix in RENAMED_SUFFIXES
        }
        self._file = disk.open(self._paths[LOG], create=True)
        self._file.truncate(0)
        self._index = ActiveIndex(base_offset)
        # Batches are copied: a view of a small one would keep the whole chunk that was read.
        self._buffer = bytearray()
        self._written_bytes = 0

    @property
    def files(self) -> SegmentFiles:
        """What it takes so far."""
        return SegmentFiles(
            self._base_offset,
            self._end_offset,
            self._written_bytes + len(self._buffer),
            len(self._index.offsets) * offset_index.ENTRY_BYTES,
            len(self._index.times) * time_index.ENTRY_BYTES,
        )

    def append(self, batch: Buffer, *, is_changed: bool) -> None:
        self.is_changed = self.is_changed or is_changed
        self._dropped = None
        header = parse_header(batch)
        position = self._written_bytes + len(self._buffer)
        self._end_offset = header.next_offset
        self._index.on_batch(header, header.last_offset, position, self._interval_bytes)
        self._buffer += batch
        if len(self._buffer) >= self._buffer_bytes:
            self._write()

    def drop(self, header_alone: Buffer) -> None:
        """A batch that goes; its header stays if nothing follows, or the last offset would go."""
        self.is_changed = True
        self._dropped = header_alone

    def finish(self, aborted: list[AbortedTransaction], modified_ms: int) -> None:
        """Sync all four. They are as old as the newest that went in, for retention by time."""
        if self._dropped is not None:
            self.append(self._dropped, is_changed=True)
        self._index.aborted += aborted
        self._write()
        self._file.sync()
        self._file.close()
        indexes = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
        for suffix, data in zip(indexes, self._index.encode(), strict=True):
            self._write_whole(self._paths[suffix], data)
        self._disk.set_modified_ms(self._paths[LOG], modified_ms)

    def discard(self) -> None:
        self._file.close()
        for path in self._paths.values():
            self._disk.remove(path)

    def _write(self) -> None:
        self._file.write_at(self._written_bytes, [self._buffer])
        self._throttle.spend(len(self._buffer))
        self._written_bytes += len(self._buffer)
        self._buffer.clear()

    def _write_whole(self, path: str, data: bytes) -> None:
        file = self._disk.open(path, create=True)
        file.truncate(0)
        file.write_at(0, [data])
        file.sync()
        file.close()
