"""What every image of ours promises, read from its Dockerfile."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCKERFILES = [*sorted(ROOT.glob("Dockerfile.*")), ROOT / "tests/e2e/client/Dockerfile"]


@pytest.fixture(params=DOCKERFILES, ids=lambda path: path.name)
def text(request: pytest.FixtureRequest) -> str:
    path: Path = request.param
    return path.read_text()


def instruction(text: str, name: str) -> str:
    found: list[str] = re.findall(rf"^{name} (.*)$", text, re.MULTILINE)
    return found[-1]


def test_kubelet_can_see_that_it_is_not_root(text: str) -> None:
    """`runAsNonRoot` refuses a user by name, which it cannot look up."""
    user, group = instruction(text, "USER").split(":")

    assert int(user) > 0
    assert int(group) > 0


def test_signals_reach_the_program_and_no_shell(text: str) -> None:
    assert json.loads(instruction(text, "ENTRYPOINT"))[0] == "python3"


def test_assertions_stay_in_force(text: str) -> None:
    assert not re.search(r"PYTHONOPTIMIZE|\"-OO?\"|python3? -OO?\b", text)


def test_nothing_is_fetched_while_it_is_built(text: str) -> None:
    # Java has no wheel: whoever has no base with it may ask for Debian's.
    unasked = re.sub(
        r'^RUN if \[ -n "\$\{JAVA\}" \].*?; fi$', "", text, flags=re.MULTILINE | re.DOTALL
    )

    assert "--no-index" in text
    assert not re.search(r"\b(apt-get|curl|wget|ADD)\b", unasked)


def test_the_base_can_be_chosen(text: str) -> None:
    assert "ARG BASE=python:3.11-slim" in text
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
