"""What Spark reports, as figures and as a line."""

import json

from barnabas_pipeline.progress import Totals, read_progress

REPORT = {
    "batchId": 7,
    "timestamp": "2026-11-17T08:00:00.000Z",
    "numInputRows": 100,
    "batchDuration": 250,
    "observedMetrics": {"barnabas": {"bad": 3, "newest_0": 1000.0, "newest_1": None}},
    "sources": [
        {
            "endOffset": {"orders": {"0": 50, "1": 60}, "users": {"0": 5}},
            "latestOffset": {"orders": {"0": 80, "1": 60, "2": 4}, "users": {"0": 5}},
        }
    ],
}


def test_lag_is_what_the_topics_have_beyond_the_batch() -> None:
    progress = read_progress(REPORT, ("orders", "users"), now_s=1012.5)

    assert progress.lag_records == {"orders": 34, "users": 0}
    assert progress.lag_seconds == {"orders": 12.5}
    assert (progress.input_rows, progress.bad_rows, progress.batch_ms) == (100, 3, 250)


def test_a_topic_that_is_read_to_its_end_is_not_late_however_old_its_records() -> None:
    report = {**REPORT, "observedMetrics": {"barnabas": {"newest_0": 1000.0, "newest_1": 10.0}}}

    assert read_progress(report, ("orders", "users"), 1012.5).lag_seconds["users"] == 0


def test_offsets_may_come_as_text() -> None:
    source = {name: json.dumps(value) for name, value in REPORT["sources"][0].items()}  # type: ignore[index]
    progress = read_progress({**REPORT, "sources": [source]}, (), 0)

    assert progress.lag_records == {"orders": 34, "users": 0}


def test_a_report_without_figures_is_a_batch_without_rows() -> None:
    progress = read_progress({"batchId": 0, "timestamp": ""}, ("orders",), 0)

    assert (progress.input_rows, progress.bad_rows, progress.lag_records) == (0, 0, {})


def test_the_line_and_the_summary_tell_the_totals() -> None:
    totals = Totals()
    assert totals.line() == "waiting for the first batch"

    first = read_progress({**REPORT, "batchId": 6}, ("orders", "users"), 1012.5)
    assert totals.add(first)
    assert not totals.add(first), "told twice, counted once"
    assert totals.add(read_progress(REPORT, ("orders", "users"), 1012.5))
    totals.output_rows = 194
    totals.seconds = 2.0

    assert totals.line() == (
        "batch 7 | in 200 | out 194 | 6 bad | "
        "lag orders 34 records, 12.5 s, users 0 records, 0.0 s | 250 ms"
    )
    assert totals.summary() == (
        "2 batches in 2.0 s: 200 records read (100/s), 194 rows written, 6 bad"
    )
