"""One row per batch, whatever it is."""

from pathlib import Path

from barnabas_core.records.batch import HEADER_BYTES, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_pipeline.segments.batch_rows import BATCH_SCHEMA, read_batches
from barnabas_pipeline.segments.plan import Isolation, Limits
from barnabas_pipeline.segments.segment_reader import open_segment
from tests.support.segment_lab import Row, batches_in, flip, rows_of, segment_paths, slices, writing

PRODUCER = 7


def batch_rows(path: Path, *, checks_records: bool = False) -> list[Row]:
    return [
        row
        for planned in slices(path, limits=Limits(Isolation.UNCOMMITTED))
        for row in rows_of(read_batches(open_segment(planned), checks_records=checks_records))
    ]


def test_markers_and_aborted_batches_are_shown_as_such(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.write([b"1", b"2"], producer_id=PRODUCER, is_transactional=True)
        writer.end(PRODUCER, commit=False)
        writer.write([b"3"], codec=Compression.ZSTD)

    rows = batch_rows(tmp_path)

    assert [(row["baseOffset"], row["lastOffset"]) for row in rows] == [(0, 1), (2, 2), (3, 3)]
    assert [row["isAborted"] for row in rows] == [True, False, False]
    assert [row["isControl"] for row in rows] == [False, True, False]
    assert [row["compression"] for row in rows] == ["none", "none", "zstd"]
    assert [row["producerId"] for row in rows] == [PRODUCER, PRODUCER, -1]
    assert [row["fault"] for row in rows] == [None, None, None]
    assert list(rows[0]) == BATCH_SCHEMA.names


def test_damage_is_a_row_with_its_place_and_reason(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(3)
    [segment] = segment_paths(tmp_path)
    position, header = batches_in(segment)[1]
    flip(segment, position + HEADER_BYTES + 1)

    [_, damaged, _] = batch_rows(tmp_path)

    assert (damaged["position"], damaged["sizeBytes"]) == (position, header.size_bytes)
    assert damaged["baseOffset"] == 3
    assert damaged["lastOffset"] is None
    assert "CRC" in damaged["fault"]


def test_records_that_do_not_fill_a_sound_batch_are_found_if_asked_for(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(1)
        # The broker does not look inside, so a producer's mistake is stored with a good checksum.
        batch = build_batch([(b"k", b"v" * 50)], base_offset=3, leader_epoch=0)
        batch[HEADER_BYTES] += 2
        header = parse_header(batch)
        good = build_batch([(b"k", b"v" * 50)], base_offset=3)
        assert parse_header(good).batch_length == header.batch_length
    [segment] = segment_paths(tmp_path)
    segment.write_bytes(segment.read_bytes() + resealed(batch))
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 4\n")

    assert [row["fault"] for row in batch_rows(tmp_path)] == [None, None]
    [_, found] = batch_rows(tmp_path, checks_records=True)
    assert "record" in found["fault"]
    assert found["lastOffset"] == 3


def resealed(batch: bytearray) -> bytes:
    from barnabas_core.records.batch import CRC_POSITION, crc_of

    crc = crc_of(batch, 0, parse_header(batch).batch_length)
    batch[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4, "big")
    return bytes(batch)
