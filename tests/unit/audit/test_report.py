"""The report as JSON and as a page."""

import json
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from barnabas_pipeline.audit.command import summary_lines
from barnabas_pipeline.audit.page import html_page
from barnabas_pipeline.audit.plot import Bar, Strip, bars, columns, strips
from barnabas_pipeline.audit.report import (
    ComparisonFigures,
    Finding,
    PartitionFigures,
    Report,
    TimeFigures,
)
from barnabas_pipeline.audit.spec import Kind

MOMENT = datetime(2024, 1, 1, tzinfo=UTC)
FIGURES = PartitionFigures("orders", 0, 10, 109, 98, MOMENT, MOMENT)
GAP = Finding(Kind.GAP, 2, ({"topic": "orders", "partition": 0, "offset": 50, "next_offset": 52},))
REPEATED = Finding(Kind.REPEATED_ID, 1, ({"id0": b"<k>", "id1": b"\xff"},))


def damaged_report() -> Report:
    report = Report("topic orders", "table <lake>", [FIGURES], remarks=["a note"])
    report.comparison = ComparisonFigures(98, 97, 96)
    report.times = TimeFigures(MOMENT, 60, (5, 0, 93))
    report.add([REPEATED, Finding(Kind.DAMAGED, 0), GAP])
    return report


def test_findings_come_in_the_order_of_kinds_and_empty_ones_not_at_all() -> None:
    assert [finding.kind for finding in damaged_report().findings] == [Kind.GAP, Kind.REPEATED_ID]


def test_json_has_the_verdict_and_readable_keys() -> None:
    document = json.loads(damaged_report().to_json())

    assert document["verdict"] == "defects"
    assert document["findings"][1]["examples"] == [{"id0": "<k>", "id1": "ff"}]
    assert document["partitions"][0]["first_at"] == "2024-01-01T00:00:00+00:00"
    assert json.loads(Report("topic a").to_json())["verdict"] == "sound"


def test_the_page_shows_every_finding_and_escapes_what_it_is_given() -> None:
    page = html_page(damaged_report())

    assert "gap: 2; repeated id: 1" in page
    assert "table &lt;lake&gt;" in page
    assert "&lt;k&gt;" in page
    assert "<k>" not in page
    assert page.count("<svg") == 5


def test_a_sound_report_says_so() -> None:
    page = html_page(Report("topic orders", partitions=[FIGURES]))

    assert "Sound: no defect was found." in page
    assert "Defects" not in page


def test_plots_are_well_formed_and_stay_within_their_frame() -> None:
    plots = (
        bars("a < b", [Bar("one", 0), Bar("two & three", 7, is_defect=True)]),
        bars("none", []),
        columns("time", [0, 5, 2], "from", "to"),
        columns("time", [], "from", "to"),
        strips("offsets", [Strip("p", 0, 10**12, [(0, 1), (10**12, 10**12 + 1), (5, 10**13)])]),
    )

    for plot in plots:
        frame = ET.fromstring(plot)  # noqa: S314  our own
        width, height = map(float, frame.attrib["viewBox"].split()[2:])
        for shape in frame.iter("{http://www.w3.org/2000/svg}rect"):
            left, top = float(shape.attrib["x"]), float(shape.attrib["y"])
            assert 0 <= left <= left + float(shape.attrib["width"]) <= width + 0.1
            assert 0 <= top <= top + float(shape.attrib["height"]) <= height


def test_the_smallest_defect_leaves_a_mark_that_can_be_seen() -> None:
    plot = strips("offsets", [Strip("p", 0, 10**12, [(7, 8)])])

    [mark] = [line for line in plot.splitlines() if "#c1121f" in line]
    assert 'width="2.0"' in mark


def test_the_summary_is_a_line_per_kind() -> None:
    assert summary_lines(damaged_report()) == [
        "topic orders: 98 records in 1 partitions",
        "against table <lake>: 98 and 97 records, 96 ids equal",
        "note: a note",
        "gap: 2",
        "repeated id: 1",
    ]
    assert summary_lines(Report("topic a"))[-1] == "sound"
