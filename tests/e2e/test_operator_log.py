"""What the operators of this run had to say, read when all other tests are over (conftest.py)."""

import json

from tests.support.followed_log import FollowedLog
from tests.support.kafka_resource import KafkaResource
from tests.support.kind_lab import note_figures


def test_no_operator_logged_an_error_that_nobody_expects(
    orders: KafkaResource, operator_log: FollowedLog
) -> None:
    lines = operator_log.lines()

    note_figures("operator's log", {"lines": len(lines)})
    assert [line for line in lines if is_unexpected(line)] == []
    assert any("leads" in line for line in lines), "nothing was followed"


def is_unexpected(line: str) -> bool:
    if "Traceback" in line:
        return True
    try:
        level = str(json.loads(line).get("level", ""))
    except ValueError:
        return "ERROR" in line
    return level in ("error", "critical")
