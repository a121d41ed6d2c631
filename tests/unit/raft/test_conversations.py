"""Scripted conversations of a whole quorum, with everything that is said and written.

A changed text is a changed protocol: read it before it is accepted with

    BARNABAS_REWRITE=1 python -m pytest tests/unit/raft/test_conversations.py
"""

import os
from pathlib import Path

import pytest

from tests.support.raft_conversation import Conversation

FOLDER = Path(__file__).parent / "conversations"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.txt"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_conversation_goes_as_written(name: str) -> None:
    path = FOLDER / name
    expected = path.read_text()

    happened = Conversation().play(expected)

    if os.environ.get("BARNABAS_REWRITE"):
        path.write_text(happened)
    else:
        assert happened == expected


def test_there_are_conversations() -> None:
    assert len(SCRIPTS) >= 11
