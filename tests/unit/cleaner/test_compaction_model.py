"""Random logs, several rounds of compaction, crashes: readers never see a difference.

A failing example is printed by Hypothesis with what replays it.
"""

from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_core.log.cleaner.settings import CleanerSettings
from tests.support.compacted_partition import CONFIG, CompactedPartition, last_written
from tests.support.dirty_log import StoredBatch
from tests.support.fake_disk import Crash, FakeDisk

KEYS = [b"a", b"b", b"c", b"d"]
PLAIN, IDEMPOTENT, TRANSACTIONAL = (-1,), (1, 2), (11, 12, 13)

pair = st.tuples(st.sampled_from(KEYS), st.one_of(st.none(), st.binary(max_size=40)))
pairs = st.lists(pair, min_size=1, max_size=3)
put = st.tuples(st.just("put"), st.sampled_from(PLAIN + IDEMPOTENT + TRANSACTIONAL), pairs)
end = st.tuples(st.just("end"), st.sampled_from(TRANSACTIONAL), st.booleans())
wait = st.tuples(st.just("wait"), st.sampled_from([1, 400, 1200]), st.none())
roll = st.tuples(st.just("roll"), st.none(), st.none())
clean = st.tuples(st.just("clean"), st.none(), st.none())
crash = st.tuples(st.just("crash"), st.integers(1, 150), st.booleans())
work = st.one_of(put, put, put, end, roll, wait)


@dataclass
class Observer:
    """Holds a partition before a cleaning against the same one after it."""

    partition: CompactedPartition
    horizons: dict[int, int] = field(default_factory=dict)
    """Offset of a tombstone to when a cleaning first found it."""

    def run(self, operation: tuple[str, object, object]) -> None:
        name, first, second = operation
        getattr(self, f"on_{name}")(first, second)

    def on_put(self, producer_id: int, records: list[tuple[bytes, bytes | None]]) -> None:
        is_transactional = producer_id in TRANSACTIONAL
        self.partition.put(*records, producer_id=producer_id, is_transactional=is_transactional)

    def on_end(self, producer_id: int, commit: bool) -> None:
        self.partition.end(producer_id, commit=commit)

    def on_wait(self, by_ms: int, _: None) -> None:
        self.partition.clock.advance(by_ms)

    def on_roll(self, _: None, __: None) -> None:
        self.partition.roll()

    def on_clean(self, _: None, __: None) -> None:
        partition = self.partition
        before, table = partition.files(), partition.table()
        producers = last_written(partition.log.producers)
        result = partition.clean()
        if result is None:
            return
        after = partition.files()
        check_readable(partition, after)
        assert partition.table() == table
        check_offsets(after)
        check_nothing_new(before, after)
        check_uncleanable(before, after, result.clean_up_to)
        assert last_written(partition.replayed_producers()) == producers
        self.check_compacted(result.clean_up_to)
        self.check_tombstones(before, result.clean_up_to)

    def on_crash(self, operation_count: int, is_machine: bool) -> None:
        """In the middle of a cleaning, of a log that is durable."""
        partition = self.partition
        partition.make_durable()
        before, table = partition.files(), partition.table()
        producers = last_written(partition.log.producers)
        partition.disk.crash_after(operation_count)
        with suppress(Crash):
            partition.clean()
        if is_machine:
            partition.disk.crash_machine()
        else:
            partition.disk.crash_process()
        partition.reopen()
        after = partition.files()
        check_readable(partition, after)
        assert partition.table() == table
        check_offsets(after)
        check_nothing_new(before, after)
        assert last_written(partition.log.producers) == producers
        # What was cleaned for sure is no longer known: the checkpoint is as old as it was.
        partition.checkpoint = None
        self.horizons.clear()

    def check_compacted(self, clean_up_to: int) -> None:
        keys = [it.key for it in self.partition.committed() if it.offset < clean_up_to]
        assert len(keys) == len(set(keys)), "a key twice in the clean part"

    def check_tombstones(self, before: list[StoredBatch], clean_up_to: int) -> None:
        """Each is there for `delete.retention.ms` after a cleaning first found it."""
        now_ms = self.partition.clock.now_ms()
        kept = {record.offset for record in self.partition.committed()}
        newest = {it.key: it.offset for batch in before for it in batch.records if it.key}
        tombstones = [it for batch in before for it in batch.records if it.value is None]
        for record in tombstones:
            found_ms = self.horizons.get(record.offset)
            is_newest = newest[record.key or b""] == record.offset
            if record.offset in kept:
                if record.offset < clean_up_to:
                    self.horizons.setdefault(record.offset, now_ms)
            elif is_newest and found_ms is not None:
                assert now_ms >= found_ms + CONFIG.delete_retention_ms


def check_readable(partition: CompactedPartition, stored: list[StoredBatch]) -> None:
    """Readers get all of it, but for headers that stand alone at the end of a segment."""
    read = [batch.data for batch in partition.batches() if batch.records]
    assert read == [batch.data for batch in stored if batch.records]


def check_offsets(batches: list[StoredBatch]) -> None:
    expected = 0
    for batch in batches:
        assert batch.header.base_offset >= expected
        expected = batch.header.next_offset
        assert batch.offsets == sorted(set(batch.offsets))
        inside = range(batch.header.base_offset, batch.header.next_offset)
        assert all(offset in inside for offset in batch.offsets)


def check_nothing_new(before: list[StoredBatch], after: list[StoredBatch]) -> None:
    """Every record and every batch was there, at its offset."""
    records = {record.offset: record for batch in before for record in batch.records}
    for record in (record for batch in after for record in batch.records):
        assert records[record.offset] == record
    spans = {(it.header.base_offset, it.header.next_offset) for it in before}
    assert spans >= {(it.header.base_offset, it.header.next_offset) for it in after}
    assert [it.header.next_offset for it in after[-1:]] == [
        it.header.next_offset for it in before[-1:]
    ]


def check_uncleanable(before: list[StoredBatch], after: list[StoredBatch], from_: int) -> None:
    def head(batches: list[StoredBatch]) -> list[bytes]:
        return [it.data for it in batches if it.header.base_offset >= from_]

    assert head(after) == head(before)


@settings(max_examples=100, deadline=None)
@given(
    operations=st.lists(st.one_of(*[work] * 9, clean), min_size=10, max_size=120),
    key_map_bytes=st.sampled_from([24 * 11, 24 * 1000]),
)
def test_readers_see_the_same_before_and_after(
    operations: list[tuple[str, object, object]], key_map_bytes: int
) -> None:
    cleaner = CleanerSettings(dedupe_buffer_bytes=key_map_bytes)
    observer = Observer(CompactedPartition(FakeDisk(), settings=cleaner))

    for operation in [*operations, ("roll", None, None), ("clean", None, None)]:
        observer.run(operation)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    operations=st.lists(st.one_of(*[work] * 12, clean, crash), min_size=10, max_size=120),
)
def test_a_crash_in_the_middle_of_a_cleaning_changes_nothing_either(
    seed: int, operations: list[tuple[str, object, object]]
) -> None:
    observer = Observer(CompactedPartition(FakeDisk(seed)))

    for operation in [*operations, ("roll", None, None), ("clean", None, None)]:
        observer.run(operation)


@pytest.mark.parametrize("crashed_at", range(1, 120, 7))
def test_a_crash_at_many_points_of_one_cleaning(crashed_at: int) -> None:
    observer = Observer(CompactedPartition(FakeDisk(crashed_at)))
    for round_number in range(8):
        for key in KEYS:
            observer.on_put(-1, [(key, b"%d" % round_number)])
        observer.on_put(11, [(b"a", b"aborted")])
        observer.on_end(11, commit=False)
        observer.on_roll(None, None)

    observer.on_crash(crashed_at, is_machine=crashed_at % 2 == 0)

    observer.on_clean(None, None)
    assert len(observer.partition.table()) == len(KEYS)
