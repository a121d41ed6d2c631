"""Who may be cleaned, and what is remembered of it."""

from barnabas_core.config.definition import Kind, definition
from barnabas_core.log.cleaner.manager import (
    CleanerManager,
    checkpoint_path,
    choose,
    view_of,
)
from barnabas_core.log.cleaner.selection import LogView
from barnabas_core.log.cleaner.settings import PROPERTIES, CleanerSettings
from barnabas_core.log.directories.checkpoint import CLEANER_FILE
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.retention import SegmentView
from barnabas_core.log.segments.file_cache import FileCache
from tests.support.compacted_partition import CompactedPartition
from tests.support.fake_disk import FakeDisk

NOW_MS = 1_000_000
KEY = ("orders", 0)
OTHER = ("orders", 1)


def test_a_paused_log_is_not_available_until_every_pause_is_over() -> None:
    manager = CleanerManager()
    manager.pause(KEY)
    manager.pause(KEY)

    manager.resume(KEY)
    assert not manager.is_available(KEY, NOW_MS)
    assert manager.is_available(OTHER, NOW_MS)

    manager.resume(KEY)
    assert manager.is_available(KEY, NOW_MS)


def test_a_log_that_is_being_cleaned_is_not_available() -> None:
    manager = CleanerManager()
    manager.cleaning = KEY

    assert not manager.is_available(KEY, NOW_MS)
    assert manager.is_available(OTHER, NOW_MS)


def test_a_damaged_log_is_given_up_and_the_others_go_on() -> None:
    manager = CleanerManager()

    manager.give_up(KEY, "damaged")

    assert not manager.is_available(KEY, NOW_MS)
    assert manager.is_available(OTHER, NOW_MS)
    assert manager.uncleanable == {KEY: "damaged"}


def test_a_log_whose_worker_failed_waits_longer_each_time() -> None:
    manager = CleanerManager()
    waits_ms = []
    for _ in range(8):
        manager.on_failure(KEY, NOW_MS)
        waits_ms.append(wait_ms(manager))

    assert waits_ms[:3] == [60_000, 120_000, 240_000]
    assert waits_ms[-2:] == [3_600_000, 3_600_000]
    assert manager.is_available(OTHER, NOW_MS)


def test_a_success_ends_the_waiting() -> None:
    manager = CleanerManager()
    manager.on_failure(KEY, NOW_MS)
    manager.on_cleaned("/logs", KEY, 10)
    assert manager.is_available(KEY, NOW_MS)

    manager.on_failure(KEY, NOW_MS)

    assert wait_ms(manager) == 60_000


def wait_ms(manager: CleanerManager) -> int:
    step_ms = 60_000
    return next(it for it in range(0, 10**8, step_ms) if manager.is_available(KEY, NOW_MS + it))


def test_the_checkpoint_file_remembers_how_far_each_log_was_cleaned() -> None:
    manager = CleanerManager()
    manager.on_cleaned("/logs", KEY, 42)
    manager.on_cleaned("/logs", OTHER, 7)
    manager.on_cleaned("/more", OTHER, 9)
    restarted = CleanerManager()

    restarted.load("/logs", manager.encode_checkpoint("/logs", [KEY, OTHER]))

    assert restarted.checkpoint_offset("/logs", KEY) == 42
    assert restarted.checkpoint_offset("/logs", OTHER) == 7
    assert restarted.checkpoint_offset("/more", OTHER) is None
    assert checkpoint_path("/logs") == f"/logs/{CLEANER_FILE}"


def test_a_log_that_is_gone_leaves_the_checkpoint() -> None:
    manager = CleanerManager()
    manager.on_cleaned("/logs", KEY, 42)
    manager.on_cleaned("/logs", OTHER, 7)

    data = manager.encode_checkpoint("/logs", [KEY])

    assert data == b"0\n1\norders 0 42\n"
    assert manager.checkpoint_offset("/logs", OTHER) is None


def test_a_missing_or_damaged_checkpoint_means_cleaning_anew() -> None:
    manager = CleanerManager()

    manager.load("/logs", None)
    assert manager.checkpoint_offset("/logs", KEY) is None

    manager.load("/logs", b"0\n2\norders 0 42\n")
    assert manager.checkpoint_offset("/logs", KEY) is None


def test_a_new_log_of_an_old_name_inherits_nothing() -> None:
    manager = CleanerManager()
    manager.on_cleaned("/logs", KEY, 42)
    manager.give_up(KEY, "damaged")

    manager.forget(KEY)

    assert manager.checkpoint_offset("/logs", KEY) is None
    assert manager.is_available(KEY, NOW_MS)


def view(topic: str, checkpoint: int | None, config: LogConfig) -> LogView:
    segments = tuple(SegmentView(10 * it, 10 * it + 10, 100, 1, 1) for it in range(4))
    return LogView(topic, 0, config, segments, 0, 40, checkpoint)


def test_the_filthiest_of_those_worth_it_is_chosen_and_bad_checkpoints_are_told() -> None:
    config = LogConfig(cleanup_compact=True)
    tidy = view("tidy", 30, config)
    dirty = view("dirty", 10, config)
    filthy = view("filthy", 99, config)

    choice = choose([tidy, dirty, filthy], 1000)

    assert choice.candidate is not None
    assert choice.candidate.topic == "filthy"
    assert [it.topic for it in choice.resets] == ["filthy"]
    assert choose([tidy], 1000).candidate is None


def test_a_log_without_a_closed_segment_is_not_looked_at() -> None:
    partition = CompactedPartition(FakeDisk())
    partition.put((b"a", b"1"))

    assert view_of(partition.log, None) is None


def test_a_segment_whose_indexes_are_not_written_yet_counts_as_active() -> None:
    partition = CompactedPartition(FakeDisk())
    for _ in range(2):
        partition.put((b"a", b"1"))
        partition.roll()
    log = partition.log
    unsealed = log.segments[1]
    unsealed.activate(log_files(partition))

    seen = view_of(log, None)

    assert seen is not None
    assert [it.base_offset for it in seen.segments] == [0, 1]
    log.segments[0].activate(log_files(partition))
    assert view_of(log, None) is None


def test_what_is_not_durable_yet_and_what_is_undecided_is_not_settled() -> None:
    partition = CompactedPartition(FakeDisk())
    for key in (b"a", b"b", b"c"):
        partition.put((key, b"1"))
        partition.roll()
    partition.put((b"d", b"1"), producer_id=1, is_transactional=True)

    assert settled(partition) == 0
    partition.make_durable()
    assert settled(partition) == 3
    partition.end(1, commit=True)
    partition.make_durable()
    assert settled(partition) == 5


def settled(partition: CompactedPartition) -> int:
    seen = view_of(partition.log, None)
    assert seen is not None
    return seen.settled_offset


def log_files(partition: CompactedPartition) -> FileCache:
    return partition.logs.environment.files


def test_the_settings_are_kafkas_by_default_and_by_name() -> None:
    defaults = CleanerSettings()
    for name, property_name in PROPERTIES.items():
        assert getattr(defaults, name) == definition(Kind.BROKER, property_name).default

    changed = CleanerSettings.from_broker(
        {"log.cleaner.backoff.ms": "5", "log.cleaner.enable": "false", "broker.id": "1"}
    )
    assert (changed.backoff_ms, changed.is_enabled) == (5, False)
