"""Reading the segments to be cleaned: every batch, in order, proven sound.

A batch whose CRC does not fit must not be rewritten: it would get a new CRC, and nobody could tell
any more that it is damaged. Nor may a segment end within a batch: what recovery cuts off at the end
of the log is damage anywhere else.
"""

from collections.abc import Iterator, Sequence

from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.grouping import SegmentFiles
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.index.transaction_index import (
    AbortedTransaction,
    CorruptTransactionIndex,
    decode_aborted,
)
from barnabas_core.log.segments.file_name import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
    parse_file_name,
)
from barnabas_core.log.segments.scan import PositionedBatch, scan_batches
from barnabas_core.ports import Disk


class SegmentSource:
    """The files of one partition, read only."""

    __slots__ = ("_dir_path", "_disk", "_throttle")

    def __init__(self, disk: Disk, dir_path: str, throttle: Throttle) -> None:
        self._disk = disk
        self._dir_path = dir_path
        self._throttle = throttle

    def path(self, base_offset: int, suffix: str) -> str:
        return f"{self._dir_path}/{file_name(base_offset, suffix)}"

    def segments(self, up_to: int) -> list[SegmentFiles]:
        """The closed segments below `up_to`, which is where another one begins."""
        sizes = dict(self._disk.list_dir(self._dir_path))
        parsed = (parse_file_name(name) for name in sizes)
        bases = sorted(it[0] for it in parsed if it is not None and it[1] == LOG and it[0] < up_to)
        return [
            SegmentFiles(
                base,
                end,
                sizes[file_name(base, LOG)],
                sizes.get(file_name(base, OFFSET_INDEX), 0),
                sizes.get(file_name(base, TIME_INDEX), 0),
            )
            for base, end in zip(bases, [*bases[1:], up_to], strict=True)
        ]

    def batches(self, segments: Sequence[SegmentFiles]) -> Iterator[PositionedBatch]:
        for segment in segments:
            yield from self._batches_of(segment)

    def _batches_of(self, segment: SegmentFiles) -> Iterator[PositionedBatch]:
        file = self._disk.open(self.path(segment.base_offset, LOG), read_only=True)

        def read_at(position: int, size: int) -> bytes:
            self._throttle.spend(size)
            return file.read_at(position, size)

        end_position = 0
        try:
            for batch in scan_batches(read_at, 0, segment.size_bytes):
                end_position = batch.position + batch.header.size_bytes
                yield batch
        finally:
            file.close()
        if end_position != segment.size_bytes:
            raise UncleanableLog(f"{file.path}: no sound batch at byte {end_position}")

    def aborted(self, segments: Sequence[SegmentFiles]) -> list[AbortedTransaction]:
        """What their transaction indexes hold."""
        found: list[AbortedTransaction] = []
        for segment in segments:
            path = self.path(segment.base_offset, TRANSACTION_INDEX)
            try:
                found += decode_aborted(self._disk.read(path) or b"")
            except CorruptTransactionIndex as error:
                raise UncleanableLog(f"{path}: {error}") from error
        return found

    def modified_ms(self, segment: SegmentFiles) -> int:
        return self._disk.modified_ms(self.path(segment.base_offset, LOG))
