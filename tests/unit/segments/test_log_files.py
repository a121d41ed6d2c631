"""What is found in log directories."""

import shutil
from pathlib import Path

import pytest

from barnabas_core.log.directories.checkpoint import HIGH_WATERMARK_FILE
from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.segments.log_files import UnreadableDirectory, find_partitions
from tests.support.segment_lab import TOPIC, set_high_watermark, writing


def found(*paths: Path) -> list[tuple[str, int, int]]:
    partitions = find_partitions(RealDisk(), [str(path) for path in paths])
    return [(it.topic, it.partition, it.high_watermark) for it in partitions]


def test_a_stopped_broker_s_segments_are_all_closed(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(40)

    [files] = find_partitions(RealDisk(), [str(tmp_path)])

    assert len(files.segments) > 1
    assert all(segment.is_closed for segment in files.segments)
    assert files.high_watermark == 120


def test_a_working_broker_s_last_segment_is_not_closed(tmp_path: Path) -> None:
    with writing(tmp_path, crash=True) as writer:
        writer.fill(40)

    [files] = find_partitions(RealDisk(), [str(tmp_path)])

    assert [segment.is_closed for segment in files.segments][-2:] == [True, False]


def test_a_partition_s_own_directory_will_do(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)

    assert found(tmp_path / f"{TOPIC}-0") == [(TOPIC, 0, 3)]


def test_of_two_replicas_the_one_that_reaches_further_is_taken(tmp_path: Path) -> None:
    with writing(tmp_path / "one") as writer:
        writer.fill(2)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    set_high_watermark(tmp_path / "one", 3)

    assert found(tmp_path / "one", tmp_path / "two") == [(TOPIC, 0, 6)]
    assert found(tmp_path / "two", tmp_path / "one") == [(TOPIC, 0, 6)]


def test_partitions_on_their_way_out_are_left_alone(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
    for name in (
        f"gone-0.{'0' * 32}-delete",
        f"moving-0.{'0' * 32}-future",
        "__cluster_metadata-0",
    ):
        shutil.copytree(tmp_path / f"{TOPIC}-0", tmp_path / name)

    assert found(tmp_path) == [(TOPIC, 0, 3)]


def test_without_a_high_watermark_nothing_is_read(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
    (tmp_path / HIGH_WATERMARK_FILE).unlink()

    with pytest.raises(UnreadableDirectory, match="replication-offset-checkpoint"):
        found(tmp_path)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
    (tmp_path / HIGH_WATERMARK_FILE).write_text("0\n7\n")

    with pytest.raises(UnreadableDirectory, match="line 2"):
        found(tmp_path)


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / HIGH_WATERMARK_FILE).write_text("0\n0\n")

    with pytest.raises(UnreadableDirectory, match="no partition"):
        found(tmp_path)


def test_a_topic_that_is_not_there_is_an_error_not_an_empty_table(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)

    with pytest.raises(UnreadableDirectory, match="no partition of topic 'payments'"):
        find_partitions(RealDisk(), [str(tmp_path)], {TOPIC, "payments"})
