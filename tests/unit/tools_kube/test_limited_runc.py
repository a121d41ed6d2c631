"""runc's stand-in asks for nothing that the machine cannot give, and leaves all else as it was."""

from pathlib import Path
from typing import Any

import pytest

from tools.kube.limited_runc import limit, specification_file


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["--root", "/run", "create", "--bundle", "/b", "id"], "/b/config.json"),
        (["create", "--bundle=/b", "id"], "/b/config.json"),
        (["run", "id"], "config.json"),
        (["exec", "--process", "/tmp/p.json", "id"], "/tmp/p.json"),
        (["exec", "id", "true"], None),
        (["delete", "id"], None),
    ],
)
def test_what_runc_is_about_to_read_is_found(arguments: list[str], file: str | None) -> None:
    assert specification_file(arguments) == (Path(file) if file else None)


def test_a_capability_that_cannot_be_had_is_not_asked_for() -> None:
    process: dict[str, Any] = {
        "capabilities": {"bounding": ["CAP_KILL", "CAP_SYS_RESOURCE"], "ambient": None},
        "oomScoreAdj": -900,
    }

    limit(process)

    assert process == {"capabilities": {"bounding": ["CAP_KILL"], "ambient": []}, "oomScoreAdj": 0}


def test_a_process_that_asks_for_little_is_left_alone() -> None:
    process: dict[str, Any] = {"args": ["true"], "oomScoreAdj": 500}

    limit(process)

    assert process == {"args": ["true"], "oomScoreAdj": 500}
