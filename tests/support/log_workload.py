"""Random work on the logs of a manager, and a model of what must be there afterwards.

The model knows, per partition, every batch that the log was given (as bytes, with its offset as
key), which of them make up the log now, and how much of that a flush has made durable. After a
crash `Workload.check` holds the reopened log against it, and takes over what it finds: batches that
were never flushed may be there or not.
"""

from dataclasses import dataclass, field
from random import Random

from barnabas_core.log.index import offset_index, time_index
from barnabas_core.log.manager import LogManager
from barnabas_core.log.opening.replay import replay_batch
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin, ProducerState
from barnabas_core.log.segments.file_name import LOG, OFFSET_INDEX, TIME_INDEX
from barnabas_core.log.segments.scan import scan_batches
from barnabas_core.records.batch import BatchHeader, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.control import end_transaction_batch

Key = tuple[str, int]
ANYWHERE = 2**62
ENDINGS = ("_truncate", "_truncate_fully", "_recreate")
"""Steps after which, half done, less may be there than before."""


@dataclass(slots=True)
class Producer:
    """A client's side of idempotence: what it sends next."""

    producer_id: int
    is_transactional: bool
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


@dataclass(slots=True)
class LogModel:
    batches: dict[int, bytes] = field(default_factory=dict)
    """The log as it should be now, by base offset; what retention took is still here."""
    history: dict[int, set[bytes]] = field(default_factory=dict)
    """Everything that ever was at an offset."""
    staged: dict[int, bytes] = field(default_factory=dict)
    end_offset: int = 0
    flushed_end: int = 0
    log_start: int = 0
    exists: bool = False
    producers: list[Producer] = field(default_factory=list)

    def stage(self, data: bytes) -> None:
        header = parse_header(data)
        self.staged[header.base_offset] = data
        self.history.setdefault(header.base_offset, set()).add(data)

    def on_written(self, end_offset: int) -> None:
        self.batches |= self.staged
        self.staged.clear()
        self.end_offset = end_offset

    def truncate(self, offset: int) -> None:
        self.batches = {
            at: data for at, data in self.batches.items() if parse_header(data).last_offset < offset
        }
        self.flushed_end = min(self.flushed_end, offset)
        self.log_start = min(self.log_start, offset)


class Workload:
    """Drives one manager; a new one is made after each restart, with the same models."""

    def __init__(
        self, manager: LogManager, models: dict[Key, LogModel], random: Random, now_ms: int
    ) -> None:
        self.manager = manager
        self.models = models
        self.random = random
        self.now_ms = now_ms
        self.epoch = 0
        self.doing = "nothing"

    def run(self, step_count: int) -> None:
        steps = [
            (self._append, 30),
            (self._append_many, 6),
            (self._append_replica, 6),
            (self._end_transaction, 10),
            (self._flush, 6),
            (self._checkpoint, 3),
            (self._roll, 2),
            (self._truncate, 3),
            (self._truncate_fully, 0.3),
            (self._recreate, 0.3),
            (self._delete_records, 1),
            (self._apply_retention, 3),
            (self._new_epoch, 2),
            (self._read, 3),
        ]
        for _ in range(step_count):
            ((step, _),) = self.random.choices(steps, [weight for _, weight in steps])
            key = self.random.choice(sorted(self.models))
            log = self.manager.get(*key)
            assert log is not None
            self.doing = step.__name__
            step(log, self.models[key])
            self.doing = "nothing"
            self.now_ms += self.random.randrange(50)

    # Steps

    def _append(self, log: PartitionLog, model: LogModel) -> None:
        self._stage(log, model)
        self._write(log, model)

    def _append_many(self, log: PartitionLog, model: LogModel) -> None:
        for _ in range(self.random.randrange(2, 6)):
            self._stage(log, model)
        self._write(log, model)

    def _stage(self, log: PartitionLog, model: LogModel) -> None:
        producer = self._producer(log, model)
        if producer is None:
            batch = build_batch(self._records(), timestamp_ms=self.now_ms)
        else:
            records = self._records()
            batch = build_batch(
                records,
                timestamp_ms=self.now_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                base_sequence=producer.sequence,
                is_transactional=producer.is_transactional,
            )
            producer.sequence += len(records)
            producer.is_open = producer.is_transactional
        self._stage_bytes(log, model, batch, AppendOrigin.CLIENT)

    def _stage_bytes(
        self, log: PartitionLog, model: LogModel, batch: bytearray, origin: AppendOrigin
    ) -> None:
        log.stage(batch, leader_epoch=self.epoch, origin=origin, now_ms=self.now_ms)
        model.stage(bytes(batch))

    def _append_replica(self, log: PartitionLog, model: LogModel) -> None:
        chunk = bytearray()
        offset = log.staged_end_offset
        for _ in range(self.random.randrange(1, 4)):
            records = self._records()
            batch = build_batch(
                records, base_offset=offset, leader_epoch=self.epoch, timestamp_ms=self.now_ms
            )
            model.stage(bytes(batch))
            chunk += batch
            offset += len(records)
        partial = chunk + bytes(batch[: self.random.randrange(len(batch))])
        log.stage_replica(bytes(partial), now_ms=self.now_ms)
        self._write(log, model)

    def _end_transaction(self, log: PartitionLog, model: LogModel) -> None:
        ongoing = [it for it in model.producers if it.is_open]
        if not ongoing:
            return
        producer = self.random.choice(ongoing)
        batch = end_transaction_batch(
            bool(self.random.randrange(2)), 0, producer.producer_id, producer.epoch, self.now_ms
        )
        self._stage_bytes(log, model, batch, AppendOrigin.COORDINATOR)
        producer.is_open = False
        self._write(log, model)

    def _flush(self, log: PartitionLog, model: LogModel) -> None:
        log.flush(self.now_ms)
        model.flushed_end = log.recovery_point

    def _checkpoint(self, _log: PartitionLog, _model: LogModel) -> None:
        self.manager.checkpoint()

    def _roll(self, log: PartitionLog, model: LogModel) -> None:
        self._write_all(log, model)
        log.roll(self.now_ms)

    def _truncate(self, log: PartitionLog, model: LogModel) -> None:
        self._write_all(log, model)
        bases = [at for at in model.batches if at >= log.log_start_offset]
        if not bases:
            return
        offset = self.random.choice([*sorted(bases)[-8:], log.log_end_offset])
        # Before the fact: from here on nobody may count on it.
        model.flushed_end = min(model.flushed_end, offset)
        self.manager.truncate({(log.topic, log.partition): offset})
        model.truncate(offset)
        model.end_offset = log.log_end_offset
        self._forget_producers(model)

    def _truncate_fully(self, log: PartitionLog, model: LogModel) -> None:
        self._write_all(log, model)
        offset = max(log.log_end_offset + self.random.randrange(-3, 10), 0)
        # Nothing is certain from here to the next flush.
        model.flushed_end = 0
        model.log_start = ANYWHERE
        self.manager.truncate_fully({(log.topic, log.partition): offset})
        model.batches.clear()
        model.end_offset = model.log_start = offset
        self._forget_producers(model)

    def _recreate(self, log: PartitionLog, model: LogModel) -> None:
        """Another topic of the same name."""
        model.flushed_end = model.end_offset = 0
        model.log_start = ANYWHERE
        model.exists = False
        self.manager.delete(log.topic, log.partition)
        model.batches.clear()
        model.staged.clear()
        self.manager.create(log.topic, log.partition)
        if self.random.randrange(2):
            self.manager.reap_job(self.now_ms).run()
        model.exists = True
        model.log_start = 0
        self._forget_producers(model)

    def _forget_producers(self, model: LogModel) -> None:
        """Their next sequence is no longer known here: others take over."""
        model.producers.clear()

    def _delete_records(self, log: PartitionLog, model: LogModel) -> None:
        if log.high_watermark > log.log_start_offset:
            offset = self.random.randrange(log.log_start_offset, log.high_watermark + 1)
            model.log_start = max(model.log_start, offset)
            log.advance_log_start(offset)

    def _apply_retention(self, log: PartitionLog, model: LogModel) -> None:
        # Whatever goes is below the high watermark; how much is not the model's business.
        self._write_all(log, model)
        model.log_start = log.high_watermark
        log.delete_old_segments(self.now_ms)
        model.log_start = log.log_start_offset
        if self.random.randrange(2):
            log.reap_job(self.now_ms).run()

    def _new_epoch(self, _log: PartitionLog, _model: LogModel) -> None:
        self.epoch += 1

    def _read(self, log: PartitionLog, model: LogModel) -> None:
        at = self.random.randrange(log.log_start_offset, log.log_end_offset + 1)
        data = log.read(at, self.random.randrange(1, 4000), up_to=log.log_end_offset).bytes()
        if at < log.log_end_offset:
            header = parse_header(data)
            assert header.base_offset <= at <= header.last_offset
            assert data[: header.size_bytes] == model.batches[header.base_offset]

    def _write(self, log: PartitionLog, model: LogModel) -> None:
        if self.random.randrange(8) == 0:
            return
        self._write_all(log, model)
        log.advance_high_watermark(log.log_end_offset - self.random.randrange(3))

    def _write_all(self, log: PartitionLog, model: LogModel) -> None:
        log.write()
        model.on_written(log.log_end_offset)

    # Data

    def _producer(self, log: PartitionLog, model: LogModel) -> Producer | None:
        if self.random.randrange(2):
            return None
        if len(model.producers) < 3:
            producer_id = self.random.randrange(1 << 40)
            model.producers.append(Producer(producer_id, bool(self.random.randrange(2))))
        return self.random.choice(model.producers)

    def _records(self) -> list[tuple[bytes | None, bytes | None]]:
        count = self.random.randrange(1, 4)
        return [
            (b"k%d" % self.random.randrange(10), self.random.randbytes(self.random.randrange(200)))
            for _ in range(count)
        ]

    # Afterwards

    def close(self) -> None:
        """Properly: all of it is durable then."""
        self.doing = "close"
        self.manager.close()
        for key, model in self.models.items():
            log = self.manager.get(*key)
            assert log is not None
            model.on_written(log.log_end_offset)
            model.flushed_end = model.end_offset
        self.doing = "nothing"

    def check(self, *, was_machine_crash: bool, doing: str) -> None:
        for key, model in sorted(self.models.items()):
            log = self.manager.get(*key)
            if log is None:
                assert not model.flushed_end, "a flushed log is gone"
                assert was_machine_crash or not model.exists, "a log is gone"
                log = self.manager.create(*key)
                model.exists = True
            check = LogCheck(log, model)
            check.run(was_machine_crash=was_machine_crash, doing=doing)
            if not check.knows_producers:
                self._truncate_fully(log, model)


@dataclass(slots=True)
class BytesReader:
    data: bytes

    def read_at(self, position: int, size: int) -> bytes:
        return self.data[position : position + size]


class LogCheck:
    """One reopened log against its model; the model then takes over what was found."""

    def __init__(self, log: PartitionLog, model: LogModel) -> None:
        self.log = log
        self.model = model
        self.found: dict[int, bytes] = {}
        self.knows_producers = True
        self.positions: dict[int, list[tuple[BatchHeader, int]]] = {}

    def run(self, *, was_machine_crash: bool, doing: str) -> None:
        self._scan()
        self._check_batches()
        if not was_machine_crash and doing not in ENDINGS:
            self._check_nothing_written_is_lost()
        self._check_indexes()
        self._check_readable()
        # Half emptied; or the first file of a log that was never flushed is lost and a later one is
        # not, in which case its snapshot may or may not be there: then nobody can say.
        first = self.log.segments[0].base_offset
        self.knows_producers = (
            doing not in ("_truncate_fully", "_recreate") and first <= self.model.flushed_end
        )
        self._take_over()
        if self.knows_producers:
            self._check_producers()

    def _scan(self) -> None:
        """Dense and sound from the first segment's base to the end."""
        expected = self.log.segments[0].base_offset
        for segment in self.log.segments:
            assert segment.base_offset == expected, "segments follow each other"
            data = self.log._environment.disk.read(segment.path(LOG))
            assert data is not None
            assert len(data) == segment.size_bytes
            position = 0
            for batch in scan_batches(BytesReader(data).read_at, 0, len(data)):
                assert batch.header.base_offset == expected, "batches follow each other"
                expected = batch.header.next_offset
                self.found[batch.header.base_offset] = bytes(batch.data)
                self.positions.setdefault(segment.base_offset, []).append(
                    (batch.header, batch.position)
                )
                position = batch.position + len(batch.data)
            assert position == len(data), "nothing after the last batch"
        assert expected == self.log.log_end_offset

    def _check_batches(self) -> None:
        model = self.model
        assert self.log.log_end_offset >= model.flushed_end
        for at, data in self.found.items():
            assert data in model.history.get(at, ()), "a batch that nobody wrote"
        for at, data in model.batches.items():
            next_offset = parse_header(data).next_offset
            if next_offset <= model.flushed_end and at >= max(
                model.log_start, self.log.segments[0].base_offset
            ):
                assert self.found.get(at) == data, f"the flushed batch at {at} is lost"
        if model.flushed_end > model.log_start:
            assert self.log.segments[0].base_offset <= model.log_start, "flushed batches are lost"

    def _check_nothing_written_is_lost(self) -> None:
        for at, data in self.model.batches.items():
            if at >= max(self.model.log_start, self.log.segments[0].base_offset):
                assert self.found.get(at) == data, f"the written batch at {at} is lost"
        assert self.log.log_end_offset >= self.model.end_offset
        if self.model.end_offset > self.model.log_start:
            assert self.log.segments[0].base_offset <= self.model.log_start

    def _check_indexes(self) -> None:
        disk = self.log._environment.disk
        for segment in self.log.segments:
            batches = self.positions.get(segment.base_offset, [])
            if segment.active is not None:
                assert not batches, "only a new log has its indexes in memory"
                continue
            index = disk.read(segment.path(OFFSET_INDEX))
            times = disk.read(segment.path(TIME_INDEX))
            assert index is not None
            assert times is not None
            assert offset_index.is_sound(index, max(segment.size_bytes, 1))
            entries = {(header.last_offset, position) for header, position in batches}
            for relative, position in offset_index._ENTRY.iter_unpack(index):
                assert (segment.base_offset + relative, position) in entries
            newest = max((header.max_timestamp for header, _ in batches), default=-1)
            last = time_index.last_entry(times, segment.base_offset)
            assert last.timestamp_ms == newest, f"the time index of {segment} ends too early"
            stamps = {(header.max_timestamp, header.last_offset) for header, _ in batches}
            for timestamp_ms, relative in time_index._ENTRY.iter_unpack(times):
                assert (timestamp_ms, segment.base_offset + relative) in stamps

    def _check_readable(self) -> None:
        offset = self.log.log_start_offset
        while offset < self.log.log_end_offset:
            data = self.log.read(offset, 1, up_to=self.log.log_end_offset).bytes()
            header = parse_header(data)
            assert data == self.found[header.base_offset]
            assert header.base_offset <= offset <= header.last_offset
            offset = header.next_offset

    def _take_over(self) -> None:
        first = self.log.segments[0].base_offset
        model = self.model
        before = {at: data for at, data in model.batches.items() if at < first}
        model.batches = before | self.found
        model.staged.clear()
        model.end_offset = self.log.log_end_offset
        model.flushed_end = min(model.flushed_end, self.log.log_end_offset)
        model.log_start = self.log.log_start_offset
        model.producers.clear()

    def _check_producers(self) -> None:
        expected = ProducerState()
        aborted = []
        for at, data in sorted(self.model.batches.items()):
            completed = replay_batch(expected, data, 0, parse_header(data))
            first = self.log.segments[0].base_offset
            if completed is not None and completed.is_aborted and at >= first:
                aborted.append((completed.producer_id, completed.first_offset, at))
        found = self.log.producers
        assert sorted(found.entries()) == sorted(expected.entries())
        assert found.first_undecided_offset() == expected.first_undecided_offset()
        kept = self.log.aborted_transactions(
            self.log.segments[0].base_offset, self.log.log_end_offset
        )
        found_aborted = [(it.producer_id, it.first_offset, it.last_offset) for it in kept]
        assert sorted(found_aborted) == sorted(aborted), f"{found_aborted} is not {aborted}"
