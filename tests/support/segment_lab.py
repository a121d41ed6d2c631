"""Log directories of every kind for those who read segments, and ways to damage them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from barnabas_core.log.directories.checkpoint import (
    HIGH_WATERMARK_FILE,
    decode_offsets,
    encode_offsets,
)
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.batch import BatchHeader, split_batches
from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import Header
from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.segments.arrow_columns import RECORD_SCHEMA
from barnabas_pipeline.segments.log_files import find_partitions
from barnabas_pipeline.segments.plan import Limits, SegmentSlice, Selection, plan_slices
from barnabas_pipeline.segments.segment_reader import OnCorrupt, open_segment, read_records
from tests.support.log_directory import append, open_logs

TOPIC = "orders"
TIME_MS = 1_700_000_000_000
SMALL = LogConfig(segment_bytes=8 * 1024, index_interval_bytes=512)
ALL_COLUMNS = tuple(RECORD_SCHEMA.names)

Row = dict[str, Any]


class LogWriter:
    """Writes to one partition as clients and coordinators do, and remembers who sent what."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self._sequences: dict[int, int] = {}
        self._now_ms = TIME_MS

    def write(
        self,
        values: Sequence[bytes | None],
        *,
        codec: Compression = Compression.NONE,
        keys: Sequence[bytes | None] | None = None,
        headers: Sequence[Header] = (),
        producer_id: int = -1,
        is_transactional: bool = False,
        timestamp_ms: int | None = None,
    ) -> int:
        """One batch; a millisecond passes with each record. The first offset."""
        sequence = self._sequences.get(producer_id, 0)
        builder = BatchBuilder(
            compression=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            is_transactional=is_transactional,
        )
        for number, value in enumerate(values):
            self._now_ms += 1
            at_ms = self._now_ms if timestamp_ms is None else timestamp_ms
            key = b"key %d" % number if keys is None else keys[number]
            builder.append(key, value, at_ms, headers)
        if producer_id >= 0:
            self._sequences[producer_id] = sequence + len(values)
        return append(self.log, builder.build(), now_ms=self._now_ms)

    def fill(self, count: int, *, size: int = 100, codec: Compression = Compression.NONE) -> None:
        """`count` batches of three records."""
        for number in range(count):
            values = [f"{number}.{n} ".encode().ljust(size, b"x") for n in range(3)]
            self.write(values, codec=codec)

    def end(self, producer_id: int, *, commit: bool) -> int:
        self._now_ms += 1
        marker = end_transaction_batch(commit, 0, producer_id, 0, self._now_ms)
        return append(self.log, marker, origin=AppendOrigin.COORDINATOR, now_ms=self._now_ms)

    def roll(self) -> None:
        self.log.roll(self._now_ms)


@contextmanager
def writing(
    path: Path, *, partition: int = 0, config: LogConfig = SMALL, crash: bool = False
) -> Iterator[LogWriter]:
    """A partition to write to; closed at the end, or left as a broker that is still at work."""
    with open_logs(path, config, now_ms=TIME_MS, crash=crash) as manager:
        yield LogWriter(manager.create(TOPIC, partition))
        if crash:
            checkpoint(manager)


def checkpoint(manager: LogManager) -> None:
    for job in manager.checkpoint_jobs():
        job.run()


def set_high_watermark(path: Path, offset: int) -> None:
    file = path / HIGH_WATERMARK_FILE
    offsets = decode_offsets(file.read_bytes())
    file.write_bytes(encode_offsets({**offsets, (TOPIC, 0): offset}))


# Reading


def slices(
    path: Path, selection: Selection | None = None, limits: Limits | None = None
) -> list[SegmentSlice]:
    disk = RealDisk()
    found = find_partitions(disk, [str(path)])
    return plan_slices(disk, found, selection or Selection(), limits or Limits())


def read_rows(
    path: Path,
    selection: Selection | None = None,
    limits: Limits | None = None,
    on_corrupt: OnCorrupt = OnCorrupt.FAIL,
    columns: Sequence[str] = ALL_COLUMNS,
) -> list[Row]:
    return [
        row
        for planned in slices(path, selection, limits)
        for row in rows_of(read_records(open_segment(planned), columns, on_corrupt))
    ]


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[Row]:
    return [row for batch in batches for row in batch.to_pylist()]


# Damaging


def segment_paths(path: Path, partition: int = 0) -> list[Path]:
    return sorted((path / f"{TOPIC}-{partition}").glob("*.log"))


def batches_in(segment: Path) -> list[tuple[int, BatchHeader]]:
    return split_batches(segment.read_bytes())


def flip(segment: Path, position: int) -> None:
    data = bytearray(segment.read_bytes())
    data[position] ^= 0x55
    segment.write_bytes(data)


def cut_out(segment: Path, number: int) -> BatchHeader:
    """Take one batch out of a segment, as if it had never been written; what it was."""
    data = segment.read_bytes()
    position, header = batches_in(segment)[number]
    segment.write_bytes(data[:position] + data[position + header.size_bytes :])
    return header
