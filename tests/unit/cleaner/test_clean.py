"""What compaction keeps, drops and leaves alone, on files of a real disk."""

from pathlib import Path

import pytest

from barnabas_core.log.cleaner.batch_cleaner import LastBatch
from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.index.offset_index import is_sound, lookup_position
from barnabas_core.log.index.time_index import last_entry
from barnabas_core.log.segments.file_name import LOG, OFFSET_INDEX, TIME_INDEX
from barnabas_core.log.segments.scan import find_batch
from barnabas_core.records.batch import HEADER_BYTES, crc_of, pack_header, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Record
from barnabas_core.runtime.disk import RealDisk
from tests.support.dirty_log import TASK, DirtyLog, without_deleted

NOW_MS = TASK.now_ms
RETENTION_MS = TASK.delete_retention_ms


@pytest.fixture
def log(tmp_path: Path) -> DirtyLog:
    return DirtyLog(RealDisk(), str(tmp_path))


def put_each(log: DirtyLog, *keys: bytes) -> None:
    """A batch per key, and a segment for all of them."""
    for key in keys:
        log.put((key, b"value"))
    log.roll()


# Data


def test_only_the_newest_record_of_each_key_stays(log: DirtyLog) -> None:
    log.put((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    log.put((b"c", b"4"), (b"b", b"5"))
    log.roll()

    result = log.clean()

    assert [(it.key, it.value) for it in log.records()] == [
        (b"a", b"3"),
        (b"c", b"4"),
        (b"b", b"5"),
    ]
    assert result.clean_up_to == 5
    assert (result.stats.read_records, result.stats.kept_records) == (5, 3)


def test_no_record_changes_its_offset_or_timestamp(log: DirtyLog) -> None:
    records = [Record(it, 500 + it, b"ab"[it % 2 :][:1], b"v%d" % it) for it in range(6)]
    log.append(build_batch(records), 6)
    log.roll()

    log.clean()

    assert log.records() == records[4:]


def test_a_rewritten_batch_keeps_everything_else_in_its_header(log: DirtyLog) -> None:
    log.put((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), producer_id=7)
    log.put((b"b", b"4"))
    log.roll()
    before = log.batches()[0].header

    log.clean()

    after = log.batches()[0]
    changed = {"batch_length", "crc", "record_count"}
    assert after.offsets == [2]
    assert {
        name
        for name, old, new in zip(before._fields, before, after.header, strict=True)
        if old != new
    } == changed


@pytest.mark.parametrize("codec", list(Compression))
def test_a_rewritten_batch_keeps_its_codec(log: DirtyLog, codec: Compression) -> None:
    log.put((b"a", b"1" * 100), (b"b", b"2"), compression=codec)
    log.put((b"a", b"3"))
    log.roll()

    log.clean()

    assert log.batches()[0].header.compression is codec
    assert [(it.key, it.value) for it in log.batches()[0].records] == [(b"b", b"2")]


def test_the_largest_timestamp_is_that_of_what_stays(log: DirtyLog) -> None:
    log.append(build_batch([Record(0, 10, b"a", b""), Record(1, 99, b"b", b"")]), 2)
    log.put((b"b", b"2"))
    log.roll()

    log.clean()

    assert log.batches()[0].header.max_timestamp == 10


def test_log_append_time_stays_what_it_was(log: DirtyLog) -> None:
    log.put((b"a", b"1"), (b"b", b"2"), append_time_ms=77)
    log.put((b"a", b"3"))
    log.roll()

    log.clean()

    header = log.batches()[0].header
    assert header.is_log_append_time
    assert header.max_timestamp == 77
    assert log.records()[0].timestamp == 77


def test_a_batch_that_loses_nothing_is_copied_byte_for_byte(log: DirtyLog) -> None:
    log.put((b"a", b"1" * 50), (b"b", b"2"), compression=Compression.GZIP)
    log.put((b"c", b"3"))
    log.put((b"c", b"4"))
    log.roll()
    before = log.batches()

    log.clean()

    assert [it.data for it in log.batches()] == [before[0].data, before[2].data]


def test_a_batch_without_records_left_is_gone(log: DirtyLog) -> None:
    put_each(log, b"a", b"b", b"a", b"b")

    log.clean()

    assert [it.offsets for it in log.batches()] == [[2], [3]]


def test_a_record_without_a_key_is_dropped_and_counted(log: DirtyLog) -> None:
    log.put((None, b"lost"), (b"a", b"1"))
    log.roll()

    result = log.clean()

    assert log.offsets() == [1]
    assert result.stats.keyless_records == 1


def test_keys_cleaned_before_are_superseded_by_dirty_ones(log: DirtyLog) -> None:
    put_each(log, b"a", b"b")
    log.clean()
    put_each(log, b"a")

    log.clean()

    assert log.offsets() == [1, 2]


def test_the_uncleanable_part_neither_counts_nor_changes(log: DirtyLog) -> None:
    put_each(log, b"a", b"b")
    first_uncleanable = log.next_offset
    put_each(log, b"a", b"a")
    before = log.batches_of(first_uncleanable)

    log.clean(first_uncleanable_offset=first_uncleanable)

    assert log.offsets() == [0, 1, 2, 3]
    assert log.batches_of(first_uncleanable) == before


# Tombstones


def test_a_tombstone_gets_a_horizon_first_and_goes_after_it(log: DirtyLog) -> None:
    log.put((b"a", b"1"))
    log.put((b"a", None), (b"b", b"2"))
    log.roll()

    log.clean()
    assert log.offsets() == [1, 2]
    assert log.batches()[0].header.delete_horizon_ms == NOW_MS + RETENTION_MS

    put_each(log, b"c")
    log.clean(now_ms=NOW_MS + RETENTION_MS - 1)
    assert log.offsets() == [1, 2, 3]

    put_each(log, b"d")
    log.clean(now_ms=NOW_MS + RETENTION_MS)
    assert log.offsets() == [2, 3, 4]


def test_a_horizon_changes_no_timestamp(log: DirtyLog) -> None:
    log.append(build_batch([Record(0, 10, b"a", None), Record(1, 20, b"b", b"")]), 2)
    log.roll()

    log.clean()

    assert [it.timestamp for it in log.records()] == [10, 20]
    assert log.batches()[0].header.max_timestamp == 20


def test_a_horizon_is_set_once_and_survives_further_rewriting(log: DirtyLog) -> None:
    log.put((b"a", None), (b"b", b"1"))
    log.roll()
    log.clean()
    put_each(log, b"b")

    log.clean(now_ms=NOW_MS + 1)

    assert log.batches()[0].offsets == [0]
    assert log.batches()[0].header.delete_horizon_ms == NOW_MS + RETENTION_MS


def test_a_superseded_tombstone_goes_at_once(log: DirtyLog) -> None:
    log.put((b"a", None))
    log.put((b"a", b"1"))
    log.roll()

    log.clean()

    assert log.offsets() == [1]
    assert log.batches()[0].header.delete_horizon_ms is None


# Transactions


def test_data_of_an_aborted_transaction_goes_whatever_its_key(log: DirtyLog) -> None:
    log.put((b"a", b"committed"))
    log.put((b"a", b"aborted"), producer_id=1, is_transactional=True)
    log.put((b"b", b"aborted"), producer_id=1, is_transactional=True)
    log.end(1, commit=False)
    log.roll()
    log.producers.clear()

    result = log.clean()

    assert [(it.offset, it.value) for it in log.records()] == [(0, b"committed")]
    assert result.stats.aborted_records == 2


def test_data_of_a_committed_transaction_supersedes(log: DirtyLog) -> None:
    log.put((b"a", b"old"))
    log.put((b"a", b"new"), producer_id=1, is_transactional=True)
    log.end(1, commit=True)
    log.roll()

    log.clean()

    assert log.offsets() == [1]
    assert log.markers() == [2]


def test_a_transaction_that_ends_beyond_the_cleanable_part_is_known_to_be_aborted(
    log: DirtyLog,
) -> None:
    log.put((b"a", b"committed"))
    log.put((b"a", b"aborted"), producer_id=1, is_transactional=True)
    log.roll()
    log.end(1, commit=False)
    log.producers.clear()

    log.clean()

    assert log.offsets() == [0]


def test_two_transactions_of_one_producer_are_told_apart(log: DirtyLog) -> None:
    for commit in (False, True, False, True):
        log.put((b"a", b"%d" % commit), producer_id=1, is_transactional=True)
        log.end(1, commit=commit)
    log.put((b"b", b""))
    log.roll()
    log.producers.clear()

    log.clean()

    assert [it.value for it in log.records()] == [b"1", b""]
    assert log.offsets() == [6, 8]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_stays_while_there_is_data_and_until_its_horizon(
    log: DirtyLog, commit: bool
) -> None:
    log.put((b"a", b"1"), producer_id=1, is_transactional=True)
    marker = log.end(1, commit=commit)
    log.put((b"a", b"2"))
    log.roll()
    log.producers.clear()

    log.clean()  # drops the data, but has met it
    assert log.markers() == [marker]
    assert log.batches()[0].header.delete_horizon_ms is None
    assert [it.last_offset for it in log.indexed_aborted()] == ([] if commit else [marker])

    put_each(log, b"b")
    log.clean()  # meets no data any more
    assert log.markers() == [marker]
    assert log.batches()[0].header.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert log.indexed_aborted() == []

    put_each(log, b"c")
    log.clean(now_ms=NOW_MS + RETENTION_MS - 1)
    assert log.markers() == [marker]

    put_each(log, b"d")
    log.clean(now_ms=NOW_MS + RETENTION_MS)
    assert log.markers() == []


def test_an_abort_marker_missing_in_the_index_stops_the_cleaning(log: DirtyLog) -> None:
    log.put((b"a", b"1"), producer_id=1, is_transactional=True)
    log.end(1, commit=False)
    log.aborted.clear()
    log.roll()

    with pytest.raises(UncleanableLog, match="offset 1"):
        log.clean()


# Producers and last batches


def test_the_last_batch_of_an_active_producer_stays_as_a_header(log: DirtyLog) -> None:
    log.put((b"a", b"1"), (b"a", b"2"), producer_id=7)
    log.put((b"a", b"3"), (b"b", b"4"))
    log.roll()

    log.clean()

    header = log.batches()[0].header
    assert (header.record_count, header.size_bytes) == (0, HEADER_BYTES)
    assert (header.base_offset, header.last_offset) == (0, 1)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (7, 0, 1)
    assert log.offsets() == [2, 3]


def test_earlier_batches_of_a_producer_and_those_of_expired_ones_go(log: DirtyLog) -> None:
    log.put((b"a", b"1"), producer_id=7)
    log.put((b"a", b"2"), producer_id=7)
    log.put((b"a", b"3"), producer_id=8)
    log.put((b"a", b"4"))
    log.roll()
    del log.producers[8]

    log.clean()

    assert [it.header.base_offset for it in log.batches()] == [1, 3]


def test_the_marker_of_a_producer_known_by_nothing_else_stays_as_a_header(log: DirtyLog) -> None:
    log.end(7, commit=True)
    log.put((b"a", b"1"))
    log.roll()

    log.clean()
    put_each(log, b"b")
    log.clean(now_ms=NOW_MS + RETENTION_MS)

    assert log.producers[7] == LastBatch(-1, 0)
    header = log.batches()[0].header
    assert header.is_control
    assert (header.record_count, header.producer_id) == (0, 7)


def test_an_emptied_batch_goes_when_its_producer_is_gone(log: DirtyLog) -> None:
    log.put((b"a", b"1"), producer_id=7)
    log.end(8, commit=True)
    log.put((b"a", b"2"))
    log.roll()
    log.clean()
    put_each(log, b"b")
    log.clean(now_ms=NOW_MS + RETENTION_MS)
    log.producers.clear()
    put_each(log, b"c")

    log.clean()

    assert [it.header.base_offset for it in log.batches()] == [2, 3, 4]


def test_the_last_offset_of_a_rewritten_segment_is_never_lost(log: DirtyLog) -> None:
    put_each(log, b"a", b"b")
    put_each(log, b"b", b"a", b"c")

    log.clean(segment_bytes=1)

    [last] = log.batches_of(0)
    assert (last.header.base_offset, last.header.next_offset) == (1, 2)
    assert last.records == []


# Segments


def test_a_gap_at_the_end_of_a_segment_is_clean_too(log: DirtyLog) -> None:
    log.put((b"a", b"1"))
    log.next_offset += 5
    log.roll()

    assert log.clean().clean_up_to == 6


def test_small_neighbours_become_one_segment(log: DirtyLog) -> None:
    for key in (b"a", b"b", b"a", b"c"):
        put_each(log, key)

    result = log.clean()

    assert log.bases() == [0]
    assert log.offsets() == [1, 2, 3]
    [group] = result.groups
    assert [base for base, _ in group.replaced] == [0, 1, 2, 3]
    assert group.size_bytes == sum(len(it.data) for it in log.batches())


def test_small_neighbours_that_lose_nothing_become_one_segment_too(log: DirtyLog) -> None:
    put_each(log, b"a")
    put_each(log, b"b")

    log.clean()

    assert log.bases() == [0]
    assert log.offsets() == [0, 1]


def test_as_many_join_as_fit_behind_what_is_left(log: DirtyLog) -> None:
    for _ in range(5):
        put_each(log, b"a", b"b", b"c")
    put_each(log, b"d", b"e", b"f")
    put_each(log, b"g")
    size_bytes = log.disk.size_of(log.path(0, LOG))
    assert size_bytes is not None

    log.clean(segment_bytes=size_bytes)

    assert log.bases() == [0, 15, 18]
    assert [it.offsets for it in log.batches_of(0)] == [[12], [13], [14]]


def test_a_lone_segment_that_loses_nothing_is_left_alone(log: DirtyLog) -> None:
    put_each(log, b"a", b"b")
    inode = Path(log.path(0, LOG)).stat().st_ino

    result = log.clean()

    assert result.groups == ()
    assert result.clean_up_to == 2
    assert Path(log.path(0, LOG)).stat().st_ino == inode
    assert not [it for it in log.names() if it.endswith(".cleaned")]


def test_a_lone_segment_with_nothing_but_a_header_to_keep_is_left_alone(log: DirtyLog) -> None:
    log.put((b"a", b"1"), producer_id=7)
    log.put((b"a", b"2"))
    log.roll()
    log.clean()
    put_each(log, b"b")

    result = log.clean(segment_bytes=1)

    assert [it.header.record_count for it in log.batches()] == [0, 1, 1]
    assert result.groups == ()


def test_the_indexes_of_a_rewritten_segment_find_every_batch(log: DirtyLog) -> None:
    for round_number in range(3):
        for key in range(40):
            log.put((b"%d" % key, b"%d" % round_number))
        log.roll()

    log.clean()

    disk = log.disk
    index = disk.read(log.path(0, OFFSET_INDEX))
    times = disk.read(log.path(0, TIME_INDEX))
    data = disk.read(log.path(0, LOG))
    assert index is not None
    assert times is not None
    assert data is not None
    assert len(index) > 8
    assert is_sound(index, len(data))
    for batch in log.batches():
        position = lookup_position(index, 0, batch.header.last_offset)
        found = find_batch(
            lambda at, size: data[at : at + size], position, len(data), batch.offsets[0]
        )
        assert found is not None
        assert found.header == batch.header
    newest = max(batch.header.max_timestamp for batch in log.batches())
    assert last_entry(times, 0).timestamp_ms == newest


def test_a_rewritten_segment_is_as_old_as_the_newest_in_it(log: DirtyLog) -> None:
    put_each(log, b"a", b"b")
    put_each(log, b"a")
    log.disk.set_modified_ms(log.path(0, LOG), 1_000)
    log.disk.set_modified_ms(log.path(2, LOG), 5_000)

    log.clean()

    assert log.disk.modified_ms(log.path(0, LOG)) == 5_000


def test_a_swap_leaves_only_final_names(log: DirtyLog) -> None:
    put_each(log, b"a", b"a")
    put_each(log, b"a")

    log.clean()

    suffixes = [".index", ".log", ".timeindex", ".txnindex"]
    assert without_deleted(log.names()) == [f"{0:020d}{suffix}" for suffix in suffixes]


# Bounds and damage


def test_a_full_key_map_stops_early_and_the_next_run_goes_on(log: DirtyLog) -> None:
    for round_number in range(2):
        for key in range(60):
            log.put((b"%d" % key, b"%d" % round_number))
        log.roll()

    first = log.clean(key_map_bytes=24 * 47)

    assert 0 < first.clean_up_to < 120
    while log.first_dirty_offset < 120:
        before = log.first_dirty_offset
        log.clean(key_map_bytes=24 * 47)
        assert log.first_dirty_offset > before
    assert log.offsets() == list(range(60, 120))


def test_what_lies_behind_a_full_key_map_is_not_judged(log: DirtyLog) -> None:
    for key in range(20):
        log.put((b"%d" % key, b""))
    log.put((None, b"no key"), (b"0", None))
    log.put((b"0", b"new"))
    log.roll()
    before = log.batches()

    result = log.clean(key_map_bytes=24 * 11)

    assert result.clean_up_to < 20
    assert [it.data for it in log.batches()[-2:]] == [it.data for it in before[-2:]]
    assert result.stats.keyless_records == 0


def test_a_map_too_small_for_one_batch_makes_the_log_uncleanable(log: DirtyLog) -> None:
    log.put(*[(b"%d" % key, b"") for key in range(20)])
    log.roll()

    with pytest.raises(UncleanableLog, match="single batch"):
        log.clean(key_map_bytes=24 * 11)


@pytest.mark.parametrize("position", [70, HEADER_BYTES + 80], ids=["first", "second"])
def test_a_damaged_batch_makes_the_log_uncleanable(log: DirtyLog, position: int) -> None:
    put_each(log, b"a", b"a", b"a")
    before = log.names()
    file = log.disk.open(log.path(0, LOG))
    file.write_at(position, [b"\xff\xff"])

    with pytest.raises(UncleanableLog, match="no sound batch"):
        log.clean()
    assert set(before) <= set(log.names())


def test_a_segment_that_ends_within_a_batch_makes_the_log_uncleanable(log: DirtyLog) -> None:
    put_each(log, b"a", b"a")
    file = log.disk.open(log.path(0, LOG))
    file.truncate(file.size() - 1)

    with pytest.raises(UncleanableLog, match="no sound batch"):
        log.clean()


def test_records_that_contradict_their_batch_make_the_log_uncleanable(log: DirtyLog) -> None:
    batch = build_batch([(b"a", b"1"), (b"b", b"2")])
    lying = bytearray(build_batch([(b"a", b"1")]))
    lying[HEADER_BYTES:] = batch[HEADER_BYTES:]
    header = parse_header(batch)._replace(record_count=1)
    pack_header(lying, 0, *header)
    pack_header(lying, 0, *header._replace(crc=crc_of(lying, 0, header.batch_length)))
    log.append(lying, 2)
    log.roll()

    with pytest.raises(UncleanableLog, match="bytes after the last record"):
        log.clean()


def test_nothing_dirty_is_nothing_to_do(log: DirtyLog) -> None:
    put_each(log, b"a", b"a")
    log.clean()

    again = log.clean()

    assert again.groups == ()
    assert again.clean_up_to == 2
