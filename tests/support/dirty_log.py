"""A partition's closed segments, written batch by batch, cleaned and read back.

Stands in for a broker around the cleaner: `DirtyLog` gives offsets, keeps the transaction indexes
and knows the producers; `clean` runs a whole cleaning and swaps the result in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from barnabas_core.log.cleaner.batch_cleaner import LastBatch
from barnabas_core.log.cleaner.clean import Cleaner, CleanResult, CleanTask
from barnabas_core.log.cleaner.swap import plan_commit, plan_finish, plan_retire, run_steps
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.transaction_index import AbortedTransaction, decode_aborted
from barnabas_core.log.segments.file_name import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
    parse_file_name,
)
from barnabas_core.ports import Buffer, Disk
from barnabas_core.records.batch import BatchHeader, check_batch, split_batches
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import Record, iter_records
from tests.support.manual_clock import ManualClock

Pair = tuple[bytes | None, bytes | None]

TASK = CleanTask(
    dir_path="",
    first_dirty_offset=0,
    first_uncleanable_offset=0,
    now_ms=1_000_000,
    delete_retention_ms=1000,
    segment_bytes=1 << 30,
    segment_index_bytes=10 * 1024 * 1024,
    index_interval_bytes=64,
    key_map_bytes=1 << 20,
    key_map_load_factor=0.9,
    io_buffer_bytes=4096,
    io_bytes_per_second=1e300,
)


@dataclass
class StoredBatch:
    header: BatchHeader
    data: bytes
    records: list[Record]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]


@dataclass
class DirtyLog:
    disk: Disk
    dir_path: str
    next_offset: int = 0
    producers: dict[int, LastBatch] = field(default_factory=dict)
    first_dirty_offset: int = 0
    timestamp_ms: int = 1000
    aborted: list[AbortedTransaction] = field(default_factory=list)
    """Of the segment that is being written."""
    _segment_base: int = 0
    _batches: list[bytearray] = field(default_factory=list)
    _ongoing: dict[int, int] = field(default_factory=dict)
    _sequences: dict[int, int] = field(default_factory=dict)

    def put(
        self,
        *pairs: Pair,
        producer_id: int = -1,
        is_transactional: bool = False,
        compression: Compression = Compression.NONE,
        append_time_ms: int | None = None,
    ) -> int:
        """One batch; the offset of its first record."""
        offset = self.next_offset
        sequence = -1
        if producer_id >= 0:
            sequence = self._sequences.get(producer_id, 0)
            self._sequences[producer_id] = sequence + len(pairs)
            self.producers[producer_id] = LastBatch(offset + len(pairs) - 1, 0)
        if is_transactional:
            self._ongoing.setdefault(producer_id, offset)
        batch = build_batch(
            pairs,
            base_offset=offset,
            leader_epoch=3,
            compression=compression,
            timestamp_ms=self.timestamp_ms,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
            append_time_ms=append_time_ms,
        )
        self.append(batch, len(pairs))
        return offset

    def end(self, producer_id: int, *, commit: bool) -> int:
        """A marker; its offset."""
        offset = self.next_offset
        batch = end_transaction_batch(commit, 0, producer_id, 0, self.timestamp_ms, offset)
        first_offset = self._ongoing.pop(producer_id, None)
        if not commit and first_offset is not None:
            self.aborted.append(AbortedTransaction(producer_id, first_offset, offset, offset + 1))
        self.producers.setdefault(producer_id, LastBatch(-1, 0))
        self.append(batch, 1)
        return offset

    def append(self, batch: bytearray, offset_count: int) -> None:
        self._batches.append(batch)
        self.next_offset += offset_count
        self.timestamp_ms += 1

    def roll(self) -> int:
        """Close the segment; where the next one begins."""
        index = ActiveIndex(self._segment_base)
        index.aborted = self.aborted
        position = 0
        for batch in self._batches:
            [(_, header)] = split_batches(batch)
            index.on_batch(header, header.last_offset, position, 64)
            position += len(batch)
        offsets, times, aborted = index.encode()
        self._write(LOG, b"".join(self._batches))
        self._write(OFFSET_INDEX, offsets)
        self._write(TIME_INDEX, times)
        if aborted:
            self._write(TRANSACTION_INDEX, aborted)
        self.disk.sync_dir(self.dir_path)
        self._segment_base = self.next_offset
        self._batches = []
        self.aborted = []
        return self.next_offset

    def _write(self, suffix: str, data: bytes) -> None:
        file = self.disk.open(self.path(self._segment_base, suffix), create=True)
        file.write_at(0, [data])
        file.sync()
        file.close()

    def path(self, base_offset: int, suffix: str) -> str:
        return f"{self.dir_path}/{file_name(base_offset, suffix)}"

    # Cleaning

    def task(self, **changes: float | str) -> CleanTask:
        fixed: dict[str, int | float | str] = {
            "dir_path": self.dir_path,
            "first_dirty_offset": self.first_dirty_offset,
            "first_uncleanable_offset": self._segment_base,
        }
        return replace(TASK, **(fixed | changes))  # type: ignore[arg-type]

    def clean(self, **changes: float | str) -> CleanResult:
        result = self.rewrite(self.task(**changes))
        for group in result.groups:
            self.swap_in(group.base_offset, [base for base, _ in group.replaced])
        self.first_dirty_offset = result.clean_up_to
        return result

    def rewrite(self, task: CleanTask) -> CleanResult:
        clock = ManualClock()
        throttle = Throttle(task.io_bytes_per_second, clock, lambda _: None)
        return Cleaner(self.disk, task, throttle, self.producers, self.aborted).run()

    def swap_in(self, base_offset: int, replaced: Sequence[int]) -> None:
        run_steps(self.disk, self.dir_path, plan_commit(base_offset))
        old = [it for it in self.names() if _is_file_of(it, replaced)]
        run_steps(self.disk, self.dir_path, plan_retire(base_offset, old))
        run_steps(self.disk, self.dir_path, plan_finish(base_offset))

    # Looking

    def names(self) -> list[str]:
        return [name for name, _ in self.disk.list_dir(self.dir_path)]

    def bases(self) -> list[int]:
        parsed = [parse_file_name(name) for name in self.names()]
        return [it[0] for it in parsed if it is not None and it[1] == LOG]

    def batches(self) -> list[StoredBatch]:
        return [batch for base in self.bases() for batch in self.batches_of(base)]

    def batches_of(self, base_offset: int) -> list[StoredBatch]:
        data = self.disk.read(self.path(base_offset, LOG))
        assert data is not None
        return read_batches(data)

    def records(self) -> list[Record]:
        """All data records, committed or not."""
        return [it for b in self.batches() if not b.header.is_control for it in b.records]

    def offsets(self) -> list[int]:
        return [record.offset for record in self.records()]

    def markers(self) -> list[int]:
        """Offsets of the markers that are still whole."""
        return [b.offsets[0] for b in self.batches() if b.header.is_control and b.records]

    def indexed_aborted(self) -> list[AbortedTransaction]:
        files = [self.disk.read(self.path(base, TRANSACTION_INDEX)) for base in self.bases()]
        return [it for data in files for it in decode_aborted(data or b"")] + self.aborted


def read_batches(data: Buffer) -> list[StoredBatch]:
    batches = []
    for position, header in split_batches(data):
        check_batch(data, position, header)
        raw = bytes(data[position : position + header.size_bytes])
        records = [_owned(it) for it in iter_records(raw, header=header)]
        batches.append(StoredBatch(header, raw, records))
    return batches


def _owned(record: Record) -> Record:
    return record._replace(
        key=None if record.key is None else bytes(record.key),
        value=None if record.value is None else bytes(record.value),
    )


def _is_file_of(name: str, bases: Iterable[int]) -> bool:
    parsed = parse_file_name(name)
    if parsed is None or parsed[0] not in bases:
        return False
    return parsed[1] in (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, ".snapshot")


def without_deleted(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.endswith(DELETED)]
