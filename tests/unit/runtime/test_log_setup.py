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


def test_structlog_is_loaded_by_the_first_line_and_not_before() -> None:
    program = (
        "import sys; from barnabas_core.runtime.log_setup import EventLog; log = EventLog();"
        "assert 'structlog' not in sys.modules; log.debug('below the level');"
        "assert 'structlog' not in sys.modules; log.info('now');"
        "assert 'structlog' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
