"""What `make ci` leaves out for want of time, and that it says so."""

import time
from pathlib import Path

import pytest

from tools.kube.__main__ import CI_BUDGET_S, smoke
from tools.kube.preflight import COLD_S, missing_time
from tools.kube.versions import PROGRAMS


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BARNABAS_CACHE", str(tmp_path))
    return tmp_path


def test_building_kubernetes_takes_longer_than_finding_it(cache: Path) -> None:
    assert missing_time(COLD_S) == []
    assert missing_time(COLD_S - 60) == [
        "45 minutes for building Kubernetes and a cluster (there are 44)"
    ]

    for one in PROGRAMS:
        (cache / one.entry).mkdir(parents=True)
    assert missing_time(COLD_S - 60) == []
    assert missing_time(60) == ["15 minutes for a cluster (there are 1)"]


def test_what_cannot_end_in_time_is_left_out_aloud(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke([str(time.time() - CI_BUDGET_S)]) == 0

    said = capsys.readouterr().out
    assert said.startswith("left out: the end-to-end tests on a kind cluster: this machine lacks")
