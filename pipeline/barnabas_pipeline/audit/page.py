"""The report as one HTML page that needs nothing else: verdict, plots, findings with examples."""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final
from xml.sax.saxutils import escape

from barnabas_pipeline.audit.plot import Bar, Strip, bars, columns, strips
from barnabas_pipeline.audit.report import Finding, PartitionFigures, Report, TimeFigures, plain
from barnabas_pipeline.audit.spec import Kind

_STYLE: Final = """\
body { font: 15px/1.5 sans-serif; color: #1b1b1b; max-width: 800px; margin: 2em auto; }
.sound { color: #2b7a3d; } .defects { color: #c1121f; }
svg { width: 100%; margin: 1em 0; } table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: 2px 8px; border-bottom: 1px solid #e3e8ec; }
td.number { text-align: right; } pre { background: #f4f6f8; padding: 8px; overflow-x: auto; }
"""


def html_page(report: Report) -> str:
    verdict = "sound" if report.is_sound else "defects"
    title = f"Audit of {report.subject}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *([f"<p>Against {escape(report.against)}.</p>"] if report.against else []),
        f'<p class="{verdict}"><strong>{_verdict(report)}</strong></p>',
        *(f"<p>{escape(remark)}.</p>" for remark in report.remarks),
        *_plots(report),
        *_partition_table(report.partitions),
        *(line for finding in report.findings for line in _finding(finding)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict(report: Report) -> str:
    if report.is_sound:
        return "Sound: no defect was found."
    return "; ".join(f"{finding.kind.value}: {finding.count:,}" for finding in report.findings)


def _plots(report: Report) -> Iterator[str]:
    if report.findings:
        rows = [Bar(it.kind.value, it.count, is_defect=True) for it in report.findings]
        yield bars("Defects", rows)
    if report.comparison is not None:
        yield bars("Compared, by id", _comparison_bars(report))
    if report.partitions:
        label = "Records per partition"
        yield bars(label, [Bar(_name(it), it.record_count) for it in report.partitions])
        yield strips("Where in the offsets", [_strip(it, report) for it in report.partitions])
    if report.times is not None:
        yield _time_plot(report.times)


def _comparison_bars(report: Report) -> list[Bar]:
    assert report.comparison is not None
    kinds = (Kind.MISSING, Kind.DOUBLED, Kind.DIFFERENT, Kind.EXTRA)
    equal = Bar("equal", report.comparison.equal_count)
    return [equal, *(Bar(kind.value, report.count(kind), is_defect=True) for kind in kinds)]


def _name(figures: PartitionFigures) -> str:
    return f"{figures.topic}-{figures.partition}"


def _strip(figures: PartitionFigures, report: Report) -> Strip:
    """Only examples have a place, so of very many defects the first are shown."""
    marks = []
    for finding in report.findings:
        for example in finding.examples:
            place = example.get("offset", example.get("baseOffset"))
            here = example.get("topic"), example.get("partition")
            if here == (figures.topic, figures.partition) and isinstance(place, int):
                end = example.get("next_offset", place + 1)
                marks.append((place, end if isinstance(end, int) else place + 1))
    return Strip(_name(figures), figures.first_offset, figures.last_offset, marks)


def _time_plot(times: TimeFigures) -> str:
    last = times.first_at + timedelta(seconds=times.width_seconds * len(times.counts))
    title = f"Records per {times.width_seconds} s"
    ends = (times.first_at, last)
    first_text, last_text = (moment.isoformat(sep=" ", timespec="seconds") for moment in ends)
    return columns(title, times.counts, first_text, last_text)


def _partition_table(partitions: Sequence[PartitionFigures]) -> Iterator[str]:
    if not partitions:
        return
    yield "<table><tr><th>partition</th><th>first offset</th><th>last offset</th>"
    yield "<th>records</th><th>first</th><th>last</th></tr>"
    for it in partitions:
        numbers = (it.first_offset, it.last_offset, it.record_count)
        cells = "".join(f'<td class="number">{number:,}</td>' for number in numbers)
        times = f"<td>{it.first_at or ''}</td><td>{it.last_at or ''}</td>"
        yield f"<tr><td>{escape(_name(it))}</td>{cells}{times}</tr>"
    yield "</table>"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"<h2>{escape(finding.kind.value)}: {finding.count:,}</h2>"
    lines = [json.dumps(dict(example), default=plain) for example in finding.examples]
    yield f"<pre>{escape(chr(10).join(lines))}</pre>"
