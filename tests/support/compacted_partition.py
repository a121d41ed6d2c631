"""A compacted partition in our own log engine on the fake disk, and how its readers see it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas_core.log.cleaner.clean import CleanedGroup, CleanResult
from barnabas_core.log.cleaner.job import run_clean, write_inputs
from barnabas_core.log.cleaner.manager import task_for, view_of
from barnabas_core.log.cleaner.selection import measure
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.opening.replay import replay_batch
from barnabas_core.log.producers.producer_snapshot import encode_snapshot
from barnabas_core.log.producers.producer_state import AppendOrigin, ProducerState
from barnabas_core.log.segments.file_name import LOG
from barnabas_core.records.builder import build_batch
from barnabas_core.records.control import ControlType, control_type, end_transaction_batch
from barnabas_core.records.record import Record
from barnabas_core.runtime.rng import SeededRng
from tests.support.dirty_log import Pair, StoredBatch, read_batches
from tests.support.fake_disk import FakeDisk
from tests.support.manual_clock import ManualClock

DIR = "/logs"
TOPIC = "orders"
CONFIG = LogConfig(
    cleanup_compact=True,
    cleanup_delete=False,
    segment_bytes=700,
    segment_index_bytes=240,
    index_interval_bytes=100,
    delete_retention_ms=1000,
)


@dataclass
class CompactedPartition:
    disk: FakeDisk
    config: LogConfig = CONFIG
    settings: CleanerSettings = field(default_factory=CleanerSettings)
    clock: ManualClock = field(default_factory=ManualClock)
    checkpoint: int | None = None
    _sequences: dict[int, int] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.disk.make_dirs(DIR)
        self.disk.sync_dir("")
        self.logs = self._open_logs()
        self.log = self.logs.create(TOPIC, 0)

    def _open_logs(self) -> LogManager:
        environment = LogEnvironment(self.disk, SeededRng(1))
        logs = LogManager(
            environment,
            self.clock,
            [DIR],
            cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
            node_id=1,
            config_of=lambda _: self.config,
        )
        logs.open()
        return logs

    def reopen(self) -> None:
        self.logs = self._open_logs()
        log = self.logs.get(TOPIC, 0)
        assert log is not None
        self.log = log
        self.log.advance_high_watermark(self.log.log_end_offset)

    def make_durable(self) -> None:
        self.log.flush(self.clock.now_ms())
        self.logs.checkpoint()

    # Writing

    def put(self, *pairs: Pair, producer_id: int = -1, is_transactional: bool = False) -> int:
        sequence = self._sequences.get(producer_id, 0)
        if is_transactional:
            self._open.add(producer_id)
        batch = build_batch(
            pairs,
            timestamp_ms=self.clock.now_ms(),
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            is_transactional=is_transactional,
        )
        self._sequences[producer_id] = sequence + len(pairs)
        return self._append(batch, AppendOrigin.CLIENT)

    def end(self, producer_id: int, *, commit: bool) -> None:
        if producer_id in self._open:
            self._open.remove(producer_id)
            now_ms = self.clock.now_ms()
            batch = end_transaction_batch(commit, 0, producer_id, 0, now_ms)
            self._append(batch, AppendOrigin.COORDINATOR)

    def is_open(self, producer_id: int) -> bool:
        return producer_id in self._open

    def _append(self, batch: bytearray, origin: AppendOrigin) -> int:
        now_ms = self.clock.now_ms()
        appended = self.log.stage(batch, leader_epoch=0, origin=origin, now_ms=now_ms)
        self.log.write()
        self.log.advance_high_watermark(self.log.log_end_offset)
        return appended.first_offset

    def roll(self) -> None:
        self.log.roll(self.clock.now_ms())

    # Cleaning

    def clean(self) -> CleanResult | None:
        """A whole cleaning, whatever the dirty ratio; None if there is nothing to clean."""
        result = self.rewrite()
        if result is None:
            return None
        for group in result.groups:
            self.swap_in(group)
        self.checkpoint = result.clean_up_to
        return result

    def rewrite(self) -> CleanResult | None:
        """What a worker does; nothing is swapped in yet."""
        self.log.flush(self.clock.now_ms())
        view = view_of(self.log, self.checkpoint)
        if view is None:
            return None
        now_ms = self.clock.now_ms()
        candidate = measure(view, now_ms)
        if not candidate.dirty_bytes:
            return None
        task = task_for(self.log, candidate, self.settings, now_ms)
        end = task.first_uncleanable_offset
        snapshot = encode_snapshot(self.log.producers.snapshot())
        write_inputs(self.disk, task, snapshot, self.log.aborted_transactions(end, end))
        throttle = Throttle(task.io_bytes_per_second, self.clock, self.clock.advance)
        return run_clean(self.disk, task, throttle)

    def swap_in(self, group: CleanedGroup) -> None:
        replacement = self.log.replacement(group, self.clock.now_ms())
        replacement.commit()
        replacement.sync()
        replacement.take_place()
        replacement.retire()
        replacement.sync()
        replacement.finish()
        replacement.sync()

    # Reading

    def batches(self) -> list[StoredBatch]:
        """The log as a reader of everything gets it."""
        found: list[StoredBatch] = []
        offset = self.log.log_start_offset
        while offset < self.log.log_end_offset:
            data = self.log.read(offset, 1 << 20, up_to=self.log.log_end_offset).bytes()
            if not data:
                break
            new = [it for it in read_batches(data) if it.header.last_offset >= offset]
            found += new
            offset = new[-1].header.next_offset
        return found

    def files(self) -> list[StoredBatch]:
        """The same from the segments' files, whatever is cached in memory."""
        paths = [segment.path(LOG) for segment in self.log.segments]
        return [it for path in paths for it in read_batches(self.disk.read(path) or b"")]

    def committed(self) -> Iterator[Record]:
        """What a `read_committed` consumer is left with, by its own rules."""
        log = self.log
        coming = log.aborted_transactions(log.log_start_offset, log.last_stable_offset)
        aborted: set[int] = set()
        for batch in self.batches():
            header = batch.header
            if header.base_offset >= log.last_stable_offset:
                return
            while coming and coming[0].first_offset <= header.last_offset:
                aborted.add(coming.pop(0).producer_id)
            if header.is_control:
                if _is_abort(batch):
                    aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                yield from batch.records

    def table(self) -> dict[bytes, bytes]:
        """Key to value, as an application builds it from the committed records."""
        table: dict[bytes, bytes] = {}
        for record in self.committed():
            assert isinstance(record.key, bytes)
            if record.value is None:
                table.pop(record.key, None)
            else:
                table[record.key] = bytes(record.value)
        return table

    def replayed_producers(self) -> ProducerState:
        """The producers as a recovery without any snapshot finds them."""
        producers = ProducerState()
        for batch in self.files():
            replay_batch(producers, batch.data, 0, batch.header)
        return producers


def _is_abort(batch: StoredBatch) -> bool:
    return bool(batch.records) and control_type(batch.records[0].key) is ControlType.ABORT


def last_written(producers: ProducerState) -> dict[int, tuple[int, int, int, int]]:
    """Per producer what must survive: epoch, last sequence, its offset, open transaction."""
    return {
        it.producer_id: (
            it.epoch,
            it.last_sequence,
            it.last_offset,
            min(it.transaction_first_offset, 0),
        )
        for it in producers.entries()
    }
