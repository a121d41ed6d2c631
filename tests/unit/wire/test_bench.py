"""The benchmark compares like with like, and its table goes where it should."""

import io
from pathlib import Path

import pytest
from kio.serial import entity_reader, entity_writer

from barnabas_core.wire.codec import decode, encode
from bench.codec import Timing, kio_class, table, verdict
from bench.codec_case import Case, cases
from bench.report import replace_section


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.label)
def test_kio_reads_what_we_write_and_writes_it_the_same(case: Case) -> None:
    encoded = encode(case.message, case.version)
    theirs = kio_class(case)
    buffer = io.BytesIO()

    entity, size = entity_reader(theirs)(encoded, 0)
    entity_writer(theirs)(buffer, entity)

    assert size == len(encoded)
    assert buffer.getvalue() == encoded
    assert decode(type(case.message), case.version, encoded) == case.message


def test_a_goal_that_is_missed_is_named() -> None:
    good = Timing("good", 10, 1.0, 3.0, 3.0, 1.0)
    slow_write = Timing("slow write", 10, 1.0, 2.9, 1.0, 1.0)
    slow_read = Timing("slow read", 10, 1.0, 3.0, 3.1, 1.0)

    assert verdict([good]).endswith("All met.")
    assert verdict([good, slow_write, slow_read]).endswith(
        "Missed: encode: slow write; decode: slow read."
    )
    assert "| good | 10 | 1.00 | 3.00 | 3.0 | 3.00 | 1.00 | 0.33 |" in table([good])


def test_a_section_is_replaced_and_the_text_around_it_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- codec:begin -->\nold\n<!-- codec:end -->\nafter\n")

    replace_section(page, "codec", "new\n")

    assert page.read_text() == "before\n<!-- codec:begin -->\nnew\n<!-- codec:end -->\nafter\n"


def test_a_page_without_the_section_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- codec:begin -->\nno end\n")

    with pytest.raises(ValueError, match="no section 'codec'"):
        replace_section(page, "codec", "new")
    assert page.read_text() == "<!-- codec:begin -->\nno end\n"
