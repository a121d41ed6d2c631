"""Rows out of directories that a real log wrote."""

from pathlib import Path

import pytest

from barnabas_core.log.segments.file_name import OFFSET_INDEX, TIME_INDEX
from barnabas_core.records.batch import HEADER_BYTES
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Header
from barnabas_pipeline.segments.plan import Isolation, Limits, Selection
from barnabas_pipeline.segments.segment_reader import (
    CorruptSegment,
    OnCorrupt,
    SegmentChanged,
    open_segment,
    read_records,
)
from tests.support.segment_lab import (
    TIME_MS,
    batches_in,
    flip,
    read_rows,
    rows_of,
    segment_paths,
    set_high_watermark,
    slices,
    writing,
)

UNCOMMITTED = Limits(Isolation.UNCOMMITTED)
PRODUCER, OTHER = 7, 8


def offsets(rows: list[dict[str, object]]) -> list[object]:
    return [row["offset"] for row in rows]


@pytest.mark.parametrize("codec", Compression)
def test_records_of_every_codec_are_read(tmp_path: Path, codec: Compression) -> None:
    header = Header(b"kind", b"test")
    with writing(tmp_path) as writer:
        writer.write([b"a", None, b""], codec=codec, headers=[header])
        writer.write([b"b" * 1000] * 5, codec=codec, keys=[None] * 5)

    rows = read_rows(tmp_path)

    assert offsets(rows) == list(range(8))
    assert [row["value"] for row in rows] == [b"a", None, b"", *[b"b" * 1000] * 5]
    assert [row["key"] for row in rows] == [b"key 0", b"key 1", b"key 2", *[None] * 5]
    assert rows[0]["headers"] == [{"key": "kind", "value": b"test"}]
    assert rows[3]["headers"] is None


def test_many_segments_give_every_record_once(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(200)

    assert len(slices(tmp_path)) > 5
    assert offsets(read_rows(tmp_path)) == list(range(600))


def test_markers_are_no_records(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write([b"1"], producer_id=PRODUCER, is_transactional=True)
        writer.end(PRODUCER, commit=True)
        writer.write([b"2"])

    assert offsets(read_rows(tmp_path)) == [0, 2]
    assert offsets(read_rows(tmp_path, limits=UNCOMMITTED)) == [0, 2]


def test_aborted_records_are_left_out_for_who_reads_committed(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write([b"aborted"], producer_id=PRODUCER, is_transactional=True)
        writer.write([b"plain"])
        writer.write([b"committed"], producer_id=OTHER, is_transactional=True)
        writer.write([b"aborted"], producer_id=PRODUCER, is_transactional=True)
        writer.end(PRODUCER, commit=False)
        writer.end(OTHER, commit=True)
        writer.write([b"committed"], producer_id=PRODUCER, is_transactional=True)
        writer.end(PRODUCER, commit=True)

    assert offsets(read_rows(tmp_path)) == [1, 2, 6]
    assert offsets(read_rows(tmp_path, limits=UNCOMMITTED)) == [0, 1, 2, 3, 6]


def test_a_transaction_aborted_in_a_later_segment_is_left_out(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write([b"aborted"], producer_id=PRODUCER, is_transactional=True)
        writer.fill(50)
        writer.write([b"aborted"], producer_id=PRODUCER, is_transactional=True)
        writer.fill(50)
        writer.end(PRODUCER, commit=False)

    assert len(slices(tmp_path)) > 3
    assert offsets(read_rows(tmp_path)) == [*range(1, 151), *range(152, 302)]


def test_nothing_is_read_beyond_an_open_transaction(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(3)
        writer.write([b"open"], producer_id=PRODUCER, is_transactional=True)
        writer.fill(100)

    assert offsets(read_rows(tmp_path)) == list(range(9))
    assert offsets(read_rows(tmp_path, limits=UNCOMMITTED)) == list(range(310))


def test_a_transaction_whose_end_is_not_committed_is_open(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
        writer.write([b"open"], producer_id=PRODUCER, is_transactional=True)
        marker = writer.end(PRODUCER, commit=True)
    set_high_watermark(tmp_path, marker)

    assert offsets(read_rows(tmp_path)) == [0, 1, 2]


def test_nothing_is_read_beyond_the_high_watermark(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(100)
    set_high_watermark(tmp_path, 150)

    assert offsets(read_rows(tmp_path)) == list(range(150))


def test_nothing_is_read_before_the_log_s_start(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(100)
        writer.log.advance_log_start(100)

    assert offsets(read_rows(tmp_path)) == list(range(100, 300))


def test_the_active_segment_is_read_only_if_asked_for(tmp_path: Path) -> None:
    with writing(tmp_path, crash=True) as writer:
        writer.fill(99)
        writer.roll()
        writer.fill(1)
        writer.write([b"aborted"], producer_id=PRODUCER, is_transactional=True)
        writer.end(PRODUCER, commit=False)
        writer.write([b"last"])
    [*_, active] = segment_paths(tmp_path)

    closed = offsets(read_rows(tmp_path))
    every = offsets(read_rows(tmp_path, limits=Limits(reads_active=True)))

    assert closed == list(range(int(active.stem)))
    assert every == [*range(300), 302]


@pytest.mark.parametrize("start", [0, 1, 17, 100, 299, 300])
@pytest.mark.parametrize("end", [1, 18, 101, 300])
def test_a_range_of_offsets_is_what_it_says(tmp_path: Path, start: int, end: int) -> None:
    with writing(tmp_path) as writer:
        writer.fill(100, codec=Compression.LZ4)

    rows = read_rows(tmp_path, Selection(start_offset=start, end_offset=end))

    assert offsets(rows) == list(range(start, end))


def test_a_time_leaves_out_what_is_surely_older(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(200)
    wanted_ms = TIME_MS + 500

    selection = Selection(min_timestamp_ms=wanted_ms)
    rows = read_rows(tmp_path, selection)

    newer = list(range(499, 600))
    assert offsets(rows)[-len(newer) :] == newer
    # Whole batches are passed over unopened, so no more than one batch too many is there.
    assert len(rows) <= len(newer) + 2
    assert len(slices(tmp_path, selection)) < len(slices(tmp_path)) / 2


def test_a_late_record_is_found_by_its_time_though_it_is_alone(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(20)
        early = writer.write([b"ahead"], timestamp_ms=TIME_MS + 3_000_000)
        writer.fill(20)

    rows = read_rows(tmp_path, Selection(min_timestamp_ms=TIME_MS + 3_000_000))

    assert offsets(rows) == [early]


def test_the_index_spares_the_bytes_before_the_first_offset(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(20)

    [planned] = slices(tmp_path, Selection(start_offset=50))

    assert open_segment(planned).bounds.position > 5_000
    assert rows_of(read_records(open_segment(planned), ["offset"]))[0] == {"offset": 50}


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (OFFSET_INDEX, b""),
        (OFFSET_INDEX, b"odd"),
        (OFFSET_INDEX, bytes(64)),
        (OFFSET_INDEX, b"\x00\x00\x00\x07\x00\x00\x00\x11" * 9),
        (TIME_INDEX, b""),
        (TIME_INDEX, b"odd"),
        (TIME_INDEX, bytes(60) + b"\xff" * 12),
    ],
)
def test_an_index_that_lies_costs_time_but_no_record(
    tmp_path: Path, suffix: str, damage: bytes
) -> None:
    with writing(tmp_path) as writer:
        writer.fill(20)
    [segment] = segment_paths(tmp_path)
    segment.with_suffix(suffix).write_bytes(damage)

    selection = Selection(start_offset=50, min_timestamp_ms=TIME_MS + 51)

    assert offsets(read_rows(tmp_path, selection)) == list(range(50, 60))


def test_a_missing_index_costs_time_but_no_record(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(20)
    [segment] = segment_paths(tmp_path)
    for suffix in (OFFSET_INDEX, TIME_INDEX):
        segment.with_suffix(suffix).unlink()

    selection = Selection(start_offset=50, min_timestamp_ms=TIME_MS + 51)

    assert offsets(read_rows(tmp_path, selection)) == list(range(50, 60))


def test_damage_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(5)
    [segment] = segment_paths(tmp_path)
    position, _ = batches_in(segment)[2]
    flip(segment, position + HEADER_BYTES + 5)

    with pytest.raises(CorruptSegment, match=f"{segment.name} at byte {position}: CRC"):
        read_rows(tmp_path)


def test_around_damage_everything_is_read_if_that_is_wished(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(5)
    [segment] = segment_paths(tmp_path)
    flip(segment, batches_in(segment)[2][0] + HEADER_BYTES + 5)

    rows = read_rows(tmp_path, on_corrupt=OnCorrupt.SKIP)

    assert offsets(rows) == [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14]


def test_a_segment_replaced_since_the_plan_is_not_read(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(5)
    [planned] = slices(tmp_path)
    [segment] = segment_paths(tmp_path)
    cleaned = segment.with_suffix(".swap")
    cleaned.write_bytes(segment.read_bytes())
    cleaned.rename(segment)

    with pytest.raises(SegmentChanged, match="replaced"):
        open_segment(planned)

    segment.unlink()
    with pytest.raises(SegmentChanged, match="deleted"):
        open_segment(planned)
