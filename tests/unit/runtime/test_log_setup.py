"""The process's log."""

import io
import json
import subprocess
import sys

from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from tests.support.manual_clock import ManualClock


def test_json_lines_carry_the_fields_and_the_traceback() -> None:
    lines = io.StringIO()
    log = EventLog(form="json", stream=lines)

    log.info("started", port=9092)
    log.failure("failed", ValueError("no"))

    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["event"], first["level"], first["port"]) == ("started", "info", 9092)
    assert "ValueError: no" in second["exception"]
    assert second["error"] == "ValueError('no')"


def test_lines_below_the_level_are_left_out() -> None:
    lines = io.StringIO()
    log = EventLog(level="warning", stream=lines)

    log.info("quiet")
    log.warning("loud", peer="127.0.0.1")

    assert "quiet" not in lines.getvalue()
    assert "loud" in lines.getvalue()
    assert "peer=127.0.0.1" in lines.getvalue()


def test_a_flood_is_counted_instead_of_written() -> None:
    lines = io.StringIO()
    clock = ManualClock()
    limit = FloodLimit(EventLog(stream=lines), clock, line_count=3, interval_ms=1000)

    for _ in range(10):
        limit.warning("refused")
    assert lines.getvalue().count("refused") == 3
    clock.advance(1000)
    limit.warning("refused")

    assert lines.getvalue().count("refused") == 4
    assert "similar_left_out=7" in lines.getvalue()


def test_a_flood_of_failures_is_counted_too() -> None:
    stream = io.StringIO()
    clock = ManualClock()
    limit = FloodLimit(EventLog(form="json", stream=stream), clock, line_count=2)

    for _ in range(100):
        limit.failure("a request failed", ValueError("no"))
    clock.advance(10_000)
    limit.failure("a request failed", ValueError("no"))

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == 3
    assert lines[-1]["similar_left_out"] == 98


def test_a_flood_of_news_is_counted_too() -> None:
    lines = io.StringIO()
    limit = FloodLimit(EventLog(stream=lines), ManualClock(), line_count=2)

    for number in range(100):
        limit.info("looking for another", number=number)

    assert lines.getvalue().count("looking for another") == 2


def test_structlog_is_loaded_by_the_first_line_and_not_before() -> None:
    program = (
        "import sys; from barnabas_core.runtime.log_setup import EventLog; log = EventLog();"
        "assert 'structlog' not in sys.modules; log.debug('below the level');"
        "assert 'structlog' not in sys.modules; log.info('now');"
        "assert 'structlog' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_named_logger_says_which_it_is_and_has_a_level_of_its_own() -> None:
    lines = io.StringIO()
    log = EventLog(form="json", stream=lines)
    part = log.named("barnabas.storage")

    part.info("told")
    log.levels.set("barnabas.storage", "ERROR")
    part.info("left out")
    log.info("told by the root")

    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["event"], first["logger"]) == ("told", "barnabas.storage")
    assert second["event"] == "told by the root"
    assert "logger" not in second


def test_a_logger_without_a_level_has_that_of_the_nearest_above() -> None:
    log = EventLog()
    for name in ("a", "a.b", "a.b.c", "ab"):
        log.named(name)

    log.levels.set("a", "DEBUG")
    log.levels.set("a.b", "FATAL")
    assert log.levels.all() == {
        "a": "DEBUG",
        "a.b": "FATAL",
        "a.b.c": "FATAL",
        "ab": "INFO",
        "root": "INFO",
    }
    log.levels.unset("a.b")
    log.levels.set("root", "TRACE")

    assert log.levels.level_of("a.b.c") == "DEBUG"
    assert log.levels.level_of("ab") == "TRACE"
