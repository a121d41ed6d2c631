"""The rewritten segment: four `.cleaned` files, whole and synced before anybody looks."""

from barnabas_core.log.active_index import ActiveIndex
from barnabas_core.log.cleaner.swap import RENAMED_SUFFIXES
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.file_name import (
    CLEANED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from barnabas_core.log.transaction_index import AbortedTransaction
from barnabas_core.ports import Buffer, Disk
from barnabas_core.records.batch import parse_header


class CleanedSegment:
    __slots__ = (
        "_buffer",
        "_buffer_bytes",
        "_disk",
        "_file",
        "_index",
        "_interval_bytes",
        "_paths",
        "_throttle",
        "_written_bytes",
        "base_offset",
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
        self.base_offset = base_offset
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
    def size_bytes(self) -> int:
        return self._written_bytes + len(self._buffer)

    def append(self, batch: Buffer) -> None:
        header = parse_header(batch)
        position = self.size_bytes
        self._index.on_batch(header, header.last_offset, position, self._interval_bytes)
        self._buffer += batch
        if len(self._buffer) >= self._buffer_bytes:
            self._write()

    def add_aborted(self, aborted: list[AbortedTransaction]) -> None:
        self._index.aborted += aborted

    def finish(self, modified_ms: int) -> None:
        """Sync all four. They are as old as the newest that went in, for retention by time."""
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
