"""Reading a log in whose middle segments were replaced."""

from collections.abc import Callable
from functools import partial

from barnabas_core.log.cleaner.clean import CleanedGroup
from barnabas_core.log.log_config import LogConfig
from tests.support.compacted_partition import CONFIG, CompactedPartition
from tests.support.dirty_log import read_batches
from tests.support.fake_disk import FakeDisk


def compacted(*rounds: bytes, segment_bytes: int = 1) -> CompactedPartition:
    """A segment for each round of keys, and one that is active and empty."""
    partition = CompactedPartition(FakeDisk())
    for keys in rounds:
        for key in keys:
            partition.put((bytes([key]), b"value"))
        partition.roll()
    partition.log.config = LogConfig(cleanup_compact=True, segment_bytes=segment_bytes)
    partition.clean()
    return partition


def offsets_from(partition: CompactedPartition, offset: int, up_to: int) -> list[list[int]]:
    data = partition.log.read(offset, 1 << 20, up_to=up_to).bytes()
    return [batch.offsets for batch in read_batches(data)]


def test_a_segment_of_which_only_a_header_is_left_is_skipped_by_readers() -> None:
    partition = compacted(b"ab", b"ab", b"ab", segment_bytes=1)
    bare = [batch for batch in partition.files() if not batch.records]
    assert [batch.header.base_offset for batch in bare] == [1, 3]

    for offset in range(5):
        assert offsets_from(partition, offset, 6) == [[4], [5]]
    assert offsets_from(partition, 5, 6) == [[5]]


def test_a_header_at_the_end_of_what_may_be_read_is_handed_out() -> None:
    partition = compacted(b"ab", b"ab", segment_bytes=1)

    assert offsets_from(partition, 0, 2) == [[]]
    assert offsets_from(partition, 1, 2) == [[]]


def test_a_header_at_the_end_of_the_log_is_handed_out() -> None:
    partition = CompactedPartition(FakeDisk())
    partition.put((b"a", None))
    partition.roll()
    partition.clean()
    partition.clock.advance(CONFIG.delete_retention_ms)
    partition.checkpoint = None
    partition.clean()

    assert offsets_from(partition, 0, 1) == [[]]


def test_a_header_before_other_batches_of_its_segment_is_no_end() -> None:
    partition = CompactedPartition(FakeDisk())
    partition.put((b"a", b"1"), producer_id=7)
    partition.put((b"a", b"2"))
    partition.roll()
    partition.clean()

    assert offsets_from(partition, 0, 2) == [[], [1]]
    data = partition.log.read(0, 61, up_to=2).bytes()
    assert [batch.offsets for batch in read_batches(data)] == [[]]


def test_the_tail_kept_in_memory_is_not_older_than_the_files() -> None:
    partition = CompactedPartition(FakeDisk())
    partition.put((b"a", b"aborted"), producer_id=11, is_transactional=True)
    partition.end(11, commit=False)
    partition.put((b"b", b"2"), producer_id=11, is_transactional=True)
    partition.end(11, commit=True)
    partition.roll()

    for _ in range(3):
        partition.clean()
        partition.checkpoint = None
        partition.clock.advance(CONFIG.delete_retention_ms)

    assert [record.offset for record in partition.committed()] == [2]


def test_an_aborted_transaction_is_told_of_as_long_as_it_has_a_batch() -> None:
    partition = CompactedPartition(FakeDisk())
    partition.put((b"a", b"aborted"), producer_id=11, is_transactional=True)
    partition.end(11, commit=False)
    partition.put((b"b", b"1"), (b"b", b"2"))
    partition.roll()
    before = partition.log.aborted_transactions(0, 4)
    assert len(before) == 1

    partition.clean()

    assert [batch.records for batch in partition.files()[:1]] == [[]]
    assert partition.log.aborted_transactions(0, 4) == before


def test_producer_snapshots_stay_only_where_segments_begin() -> None:
    partition = CompactedPartition(FakeDisk())
    for _ in range(3):
        partition.put((b"a", b"1"), producer_id=7)
        partition.put((b"b", b"2"), producer_id=7)
        partition.roll()

    partition.clean()

    log = partition.log
    bases = [segment.base_offset for segment in log.segments]
    names = [name for name, _ in partition.disk.list_dir(log.dir_path)]
    assert bases == [0, 6]
    assert [it for it in names if it.endswith(".snapshot")] == [f"{6:020d}.snapshot"]
    assert log._tracker.snapshot_offsets == [6]


def test_nothing_is_remembered_of_a_segment_under_its_temporary_name() -> None:
    partition = CompactedPartition(FakeDisk())
    for _ in range(2):
        partition.put((b"a", b"1"))
        partition.put((b"a", b"2"))
        partition.roll()
        partition.checkpoint = None
        result = partition.rewrite()
        assert result is not None
        [group] = result.groups
        replacement = partition.log.replacement(group, partition.clock.now_ms())
        replacement.commit()
        replacement.take_place()
        read = [batch.data for batch in partition.batches()]
        assert read == [batch.data for batch in partition.files()]
        replacement.retire()
        replacement.finish()
        read = [batch.data for batch in partition.batches()]
        assert read == [batch.data for batch in partition.files()]


class InterruptedDisk(FakeDisk):
    """Does something else in the middle of its work, as another thread would."""

    steps_left = 0
    interrupt: Callable[[], None] | None = None

    def step(self) -> None:
        super().step()
        self.steps_left -= 1
        if self.steps_left == 0 and self.interrupt is not None:
            self.interrupt()


def prepared() -> tuple[CompactedPartition, InterruptedDisk, CleanedGroup]:
    """Three segments, rewritten into one that is not swapped in yet; nothing is cached."""
    disk = InterruptedDisk()
    partition = CompactedPartition(disk)
    for keys in (b"abcd", b"abef", b"abgh"):
        for key in keys:
            partition.put((bytes([key]), b"value"))
            partition.clock.advance(1)
        partition.roll()
    result = partition.rewrite()
    assert result is not None
    for segment in partition.log.segments:
        for suffix in (".log", ".index", ".timeindex"):
            partition.logs.environment.files.drop(segment.path(suffix))
    return partition, disk, result.groups[0]


def test_a_lookup_in_a_thread_is_repeated_when_segments_are_replaced_meanwhile() -> None:
    partition, disk, _ = prepared()
    # Offset 7 is in the second segment, and stays.
    wanted_ms = partition.clock.now_ms() - 12 + 7
    before = disk.operation_count
    expected = partition.log.offset_for_timestamp(wanted_ms)
    assert expected is not None
    assert expected.offset == 7
    step_count = disk.operation_count - before
    assert step_count >= 4

    for interrupted_at in range(1, step_count + 1):
        partition, disk, group = prepared()
        disk.interrupt = partial(partition.swap_in, group)
        disk.steps_left = interrupted_at
        assert partition.log.offset_for_timestamp(wanted_ms) == expected
        assert len(partition.log.segments) == 2
