"""Kafka's dump tool reads what our log wrote, index by index, and has nothing to complain about."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.runtime.cleaner_task import CleanerTask
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from tests.support.dump_log import Dump, batch_field, dump_directory
from tests.support.external import JavaRuntime
from tests.support.log_directory import append, open_logs
from tests.support.manual_clock import ManualClock

FIRST_MS = 1_700_000_000_000
RECORDS_PER_BATCH = 10
KEYS = 50
SMALL_SEGMENTS = LogConfig(segment_bytes=8_192, index_interval_bytes=512)


@dataclass(slots=True)
class Writer:
    """Appends batches of ten records and remembers what a reader should find."""

    log: PartitionLog
    leader_epoch: int = 0
    lines: list[str] = field(default_factory=list)
    """By offset: the value of a record, or what a marker says."""
    sequences: dict[int, int] = field(default_factory=dict)
    aborted: list[str] = field(default_factory=list)
    aborted_offsets: set[int] = field(default_factory=set)
    open_offsets: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def write(
        self,
        codec: Compression = Compression.NONE,
        producer_id: int = -1,
        *,
        is_transactional: bool = False,
    ) -> int:
        has_producer = producer_id >= 0
        sequence = self.sequences.get(producer_id, 0)
        builder = BatchBuilder(
            compression=codec,
            producer_id=producer_id,
            producer_epoch=0 if has_producer else -1,
            base_sequence=sequence if has_producer else -1,
            is_transactional=is_transactional,
        )
        for _ in range(RECORDS_PER_BATCH):
            number = len(self.lines)
            value = f"{codec.name.lower()} {number}".ljust(60, ".")
            # Mostly rising: a timestamp may also be older than the one before it.
            builder.append(b"key %d" % (number % KEYS), value.encode(), time_of(number))
            self.lines.append(value)
        self.sequences[producer_id] = sequence + RECORDS_PER_BATCH
        if is_transactional:
            first = len(self.lines) - RECORDS_PER_BATCH
            self.open_offsets[producer_id] += range(first, len(self.lines))
        return append(self.log, builder.build(), leader_epoch=self.leader_epoch, now_ms=FIRST_MS)

    def end_transaction(self, producer_id: int, first_offset: int, *, commit: bool) -> None:
        number = len(self.lines)
        marker = end_transaction_batch(
            commit=commit,
            coordinator_epoch=3,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp_ms=time_of(number),
        )
        append(
            self.log,
            marker,
            leader_epoch=self.leader_epoch,
            origin=AppendOrigin.COORDINATOR,
            now_ms=FIRST_MS,
        )
        self.lines.append(f"{'COMMIT' if commit else 'ABORT'} coordinatorEpoch: 3")
        offsets = self.open_offsets.pop(producer_id)
        if not commit:
            self.aborted_offsets.update(offsets)
            self.aborted.append(f"producerId: {producer_id} firstOffset: {first_offset} ")

    def last_committed_offsets(self) -> set[int]:
        """Of every key the last record that no abort took back."""
        last: dict[int, int] = {}
        for offset, line in enumerate(self.lines):
            if offset not in self.aborted_offsets and "coordinatorEpoch" not in line:
                last[offset % KEYS] = offset
        return set(last.values())

    def write_everything(self) -> None:
        for round_number in range(8):
            self.leader_epoch = round_number // 4
            for codec in Compression:
                self.write(codec)
                self.write(codec, producer_id=100)
            first = self.write(Compression.LZ4, producer_id=200, is_transactional=True)
            second = self.write(Compression.NONE, producer_id=201, is_transactional=True)
            self.write(Compression.ZSTD, producer_id=200, is_transactional=True)
            self.end_transaction(200, first, commit=round_number % 2 == 0)
            self.end_transaction(201, second, commit=round_number % 3 == 0)


def time_of(number: int) -> int:
    return FIRST_MS + 10 * number - (35 if number % 7 == 0 else 0)


def assert_clean(dump: Dump, written: Writer) -> None:
    assert dump.complaints == []
    assert dump.gaps == []
    assert [record.offset for record in dump.records] == list(range(len(written.lines)))
    assert [content(record.line) for record in dump.records] == written.lines
    assert dump.record_count == len(written.lines)


def content(line: str) -> str:
    return line.partition(" payload: ")[2] or line.partition(" endTxnMarker: ")[2]


def segments_of(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Writer]:
    """A directory with everything in it, closed properly."""
    with open_logs(tmp_path, SMALL_SEGMENTS) as manager:
        writer = Writer(manager.create("everything", 0, topic_id=b"a topic's own id"))
        writer.write_everything()
    return tmp_path / "everything-0", writer


def test_a_closed_log_of_every_kind_of_batch_is_clean(
    java: JavaRuntime, written: tuple[Path, Writer]
) -> None:
    directory, writer = written

    dump = dump_directory(java, directory)

    assert_clean(dump, writer)
    assert len(segments_of(directory)) > 3
    assert {batch_field(batch, "compresscodec") for batch in dump.batches} == {
        codec.name.lower() for codec in Compression
    }
    assert {batch_field(batch, "partitionLeaderEpoch") for batch in dump.batches} == {"0", "1"}
    timestamps = [record.timestamp_ms for record in dump.records]
    assert timestamps == [time_of(number) for number in range(len(writer.lines))]


def test_the_transaction_index_and_the_snapshots_say_what_happened(
    java: JavaRuntime, written: tuple[Path, Writer]
) -> None:
    directory, writer = written

    lines = dump_directory(java, directory).lines

    aborted = [line for line in lines if line.startswith("version: 0 producerId: ")]
    assert len(aborted) == len(writer.aborted)
    assert all(any(one in line for line in aborted) for one in writer.aborted)
    last = lines[lines.index(f"Dumping {directory}/{len(writer.lines):020}.snapshot") + 1 :]
    states = {int(batch_field(line, "producerId")): line for line in last}
    assert set(states) == {100, 200, 201}
    for producer_id, line in states.items():
        assert int(batch_field(line, "lastSequence")) == writer.sequences[producer_id] - 1
        assert batch_field(line, "currentTxnFirstOffset") == "OptionalLong.empty"
    assert [batch_field(states[it], "coordinatorEpoch") for it in (100, 200)] == ["-1", "3"]


def test_log_append_time_is_what_java_reads(java: JavaRuntime, tmp_path: Path) -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime", index_interval_bytes=512)
    with open_logs(tmp_path, config) as manager:
        writer = Writer(manager.create("append-time", 0))
        for codec in Compression:
            writer.write(codec)

    dump = dump_directory(java, tmp_path / "append-time-0")

    assert_clean(dump, writer)
    assert {record.timestamp_ms for record in dump.records} == {FIRST_MS}
    assert all("LogAppendTime: " in record.line for record in dump.records)


def test_a_log_recovered_after_a_crash_is_clean(java: JavaRuntime, tmp_path: Path) -> None:
    with open_logs(tmp_path, SMALL_SEGMENTS, crash=True) as manager:
        writer = Writer(manager.create("crashed", 0))
        writer.write_everything()
    active = segments_of(tmp_path / "crashed-0")[-1]
    with active.open("ab") as log:
        log.write(b"a batch that was never finished")

    with open_logs(tmp_path, SMALL_SEGMENTS):
        pass

    assert_clean(dump_directory(java, tmp_path / "crashed-0"), writer)


def test_a_truncated_log_is_clean(java: JavaRuntime, tmp_path: Path) -> None:
    with open_logs(tmp_path, SMALL_SEGMENTS) as manager:
        writer = Writer(manager.create("truncated", 0))
        writer.write_everything()
        log = manager.get("truncated", 0)
        assert log is not None
        manager.truncate({("truncated", 0): 500})
        del writer.lines[log.log_end_offset :]

    assert len(writer.lines) > 400
    assert_clean(dump_directory(java, tmp_path / "truncated-0"), writer)


def test_a_log_whose_head_was_deleted_is_clean(java: JavaRuntime, tmp_path: Path) -> None:
    with open_logs(tmp_path, SMALL_SEGMENTS) as manager:
        log = manager.create("trimmed", 0)
        writer = Writer(log)
        writer.write_everything()
        log.advance_log_start(600)
        log.flush(FIRST_MS)
        log.delete_old_segments(FIRST_MS)
        first = log.segments[0].base_offset

    dump = dump_directory(java, tmp_path / "trimmed-0")

    assert first > 0
    assert dump.complaints == []
    assert dump.gaps == []
    assert [content(record.line) for record in dump.records] == writer.lines[first:]


def test_a_compacted_log_is_clean_and_keeps_the_last_of_every_key(
    java: JavaRuntime, tmp_path: Path
) -> None:
    config = replace(
        SMALL_SEGMENTS, cleanup_compact=True, cleanup_delete=False, min_cleanable_dirty_ratio=0.0
    )
    with open_logs(tmp_path, config) as manager:
        writer = Writer(manager.create("compacted", 0))
        writer.write_everything()
        writer.log.flush(FIRST_MS)  # only what a crash cannot take back may replace another record
        asyncio.run(compact(manager))

    dump = dump_directory(java, tmp_path / "compacted-0")

    assert dump.complaints == []
    offsets = [record.offset for record in dump.records]
    assert offsets == sorted(set(offsets))
    assert len(offsets) < len(writer.lines) / 2
    assert dump.gaps != []
    assert all(content(record.line) == writer.lines[record.offset] for record in dump.records)
    assert writer.last_committed_offsets() <= set(offsets)


async def compact(manager: LogManager) -> None:
    clock, events = ManualClock(FIRST_MS), EventLog()
    executor = SystemExecutor()
    cleaner = CleanerTask(manager, executor, clock, events, CleanerSettings())
    cleaner.load_checkpoints()
    for log in manager.logs():
        log.flush(FIRST_MS)
    assert await cleaner.clean_filthiest()
    executor.close()


# The judge itself: it must see what is wrong.


def test_a_bad_index_is_found(java: JavaRuntime, written: tuple[Path, Writer]) -> None:
    directory, _ = written
    index = segments_of(directory)[0].with_suffix(".index")
    entries = bytearray(index.read_bytes())
    assert len(entries) >= 16
    entries[7] ^= 0x40  # the position of the first entry
    index.write_bytes(entries)

    assert dump_directory(java, directory).complaints != []


def test_a_bad_time_index_is_found(java: JavaRuntime, written: tuple[Path, Writer]) -> None:
    directory, _ = written
    index = segments_of(directory)[0].with_suffix(".timeindex")
    entries = bytearray(index.read_bytes())
    assert len(entries) >= 24
    entries[11] ^= 0x08  # the offset of the first entry
    index.write_bytes(entries)

    assert dump_directory(java, directory).complaints != []


def test_a_bad_tail_is_found(java: JavaRuntime, written: tuple[Path, Writer]) -> None:
    directory, _ = written
    with segments_of(directory)[-1].open("ab") as log:
        log.write(b"not a batch")

    assert any(
        "invalid bytes at the end" in it for it in dump_directory(java, directory).complaints
    )


def test_a_flipped_byte_in_a_batch_is_found(
    java: JavaRuntime, written: tuple[Path, Writer]
) -> None:
    directory, _ = written
    log = segments_of(directory)[1]
    data = bytearray(log.read_bytes())
    data[100] ^= 0x01
    log.write_bytes(data)

    assert dump_directory(java, directory).complaints != []
