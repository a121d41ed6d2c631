"""Up to where a log is stable, and what was aborted, from its files alone.

The log itself is asked for the same before it is closed.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.segments.file_name import PRODUCER_SNAPSHOT, TRANSACTION_INDEX
from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.segments.log_files import find_partitions
from barnabas_pipeline.segments.stability import Stability, find_stability
from tests.support.segment_lab import LogWriter, segment_paths, set_high_watermark, writing

PRODUCERS = (1, 2, 3)


def stability(path: Path) -> Stability:
    [files] = find_partitions(RealDisk(), [str(path)])
    return find_stability(RealDisk(), files)


def write_transactions(writer: LogWriter, count: int) -> None:
    """One after the other and across each other, every third aborted; the last stays open."""
    for number in range(count):
        producer_id = PRODUCERS[number % 3]
        writer.write([b"x" * 300] * 2, producer_id=producer_id, is_transactional=True)
        writer.write([b"y" * 300])
        if number >= 2:
            writer.end(PRODUCERS[(number - 2) % 3], commit=number % 2 == 0)


def ranges(aborted: Sequence[AbortedTransaction]) -> set[object]:
    return {(it.producer_id, it.first_offset, it.last_offset) for it in aborted}


@pytest.mark.parametrize("crash", [False, True])
def test_it_is_what_the_log_itself_says(tmp_path: Path, crash: bool) -> None:
    with writing(tmp_path, crash=crash) as writer:
        write_transactions(writer, 60)
        log = writer.log
        last_stable_offset = log.last_stable_offset
        aborted = log.aborted_transactions(0, log.high_watermark)

    found = stability(tmp_path)

    assert len(segment_paths(tmp_path)) > 3
    assert found.last_stable_offset == last_stable_offset < log.high_watermark
    assert ranges(found.aborted) == ranges(aborted)
    assert len(aborted) > 20


def test_a_lower_high_watermark_opens_transactions_again(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        first = writer.write([b"1"], producer_id=1, is_transactional=True)
        marker = writer.end(1, commit=False)
        writer.roll()
        writer.fill(1)
    set_high_watermark(tmp_path, marker)

    found = stability(tmp_path)

    assert found == Stability(first, ())


def test_a_snapshot_above_the_high_watermark_is_not_believed(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
        open_from = writer.write([b"1"], producer_id=1, is_transactional=True)
        writer.end(1, commit=True)
    # The one that closing wrote says that nothing is open.
    [snapshot] = (tmp_path / "orders-0").glob(f"*{PRODUCER_SNAPSHOT}")
    set_high_watermark(tmp_path, open_from + 1)

    assert int(snapshot.stem) > open_from + 1
    assert stability(tmp_path).last_stable_offset == open_from


@pytest.mark.parametrize("how", ["damaged", "missing"])
def test_without_its_newest_snapshot_more_is_read(tmp_path: Path, how: str) -> None:
    with writing(tmp_path) as writer:
        write_transactions(writer, 40)
        last_stable_offset = writer.log.last_stable_offset
    snapshots = sorted((tmp_path / "orders-0").glob(f"*{PRODUCER_SNAPSHOT}"))
    for snapshot in snapshots[-2:]:
        if how == "damaged":
            snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"\x77")
        else:
            snapshot.unlink()

    assert stability(tmp_path).last_stable_offset == last_stable_offset


def test_a_damaged_index_of_aborted_transactions_is_found_out_again(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        write_transactions(writer, 60)
        aborted = writer.log.aborted_transactions(0, writer.log.high_watermark)
    index = sorted((tmp_path / "orders-0").glob(f"*{TRANSACTION_INDEX}"))[1]
    index.write_bytes(index.read_bytes()[:-1])

    assert ranges(stability(tmp_path).aborted) == ranges(aborted)
