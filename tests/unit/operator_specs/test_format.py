"""The containers that make a pod ready, run one after the other on directories of this machine."""

from pathlib import Path

import pytest

from barnabas import pod_setup
from barnabas.storage import cli
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.config_maps import properties_config_map, quorum_map
from barnabas_operator.specs.containers import format_container, setup_container
from barnabas_operator.specs.identity import directory_id
from tests.support.blueprints import LARGE, blueprint_of


class Pod:
    """A pod of the controllers, on folders below `root`."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._monkeypatch = monkeypatch

    def start(self, blueprint: Blueprint, node_id: int) -> int:
        """Exit status of the second container, once the first has done its work."""
        (node_set,) = [one for one in blueprint.node_sets if node_id in one.node_ids]
        self._mount(node_set)
        self._monkeypatch.setenv("NODE_ID", str(node_id))
        self._monkeypatch.setenv("POD_NAME", f"demo-{node_set.pool}-{node_id}")
        assert pod_setup.main(self._here(setup_container(node_set)["command"])[3:]) == 0
        return cli.main(self._here(format_container(node_set)["command"])[1:])

    @property
    def directory_id(self) -> str:
        text = (self.root / "var/lib/barnabas/data/log/meta.properties").read_text()
        lines = dict(line.split("=") for line in text.splitlines() if "=" in line)
        return lines["directory.id"]

    @property
    def has_voters(self) -> bool:
        folder = self.root / "var/lib/barnabas/data/log/__cluster_metadata-0"
        return folder.is_dir() and any(folder.glob("*.checkpoint"))

    def _mount(self, node_set: NodeSet) -> None:
        for path, data in {
            "etc/barnabas": properties_config_map(node_set)["data"],
            "etc/barnabas-quorum": quorum_map(node_set.cluster)["data"],
            "etc/barnabas-pod": {"facts": ""},
        }.items():
            folder = self.root / path
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in data.items():
                (folder / name).write_text(text.replace("/var/lib", f"{self.root}/var/lib"))

    def _here(self, command: list[str]) -> list[str]:
        places = ("/etc/", "/run/", "/var/")
        for place in places:
            command = [word.replace(place, f"{self.root}{place}") for word in command]
        return command


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    return Pod(tmp_path, monkeypatch)


def test_a_first_controller_is_formatted_as_the_voter_that_the_others_know(pod: Pod) -> None:
    blueprint = blueprint_of(LARGE)

    assert pod.start(blueprint, 100_001) == 0
    assert pod.directory_id == directory_id(blueprint.cluster_id, 100_001)
    assert pod.has_voters


def test_a_formatted_disk_is_never_formatted_again(pod: Pod) -> None:
    pod.start(blueprint_of(LARGE), 100_001)
    before = pod.directory_id

    assert pod.start(blueprint_of(LARGE, quorum_formed=True), 100_001) == 0
    assert pod.directory_id == before


def test_a_disk_of_another_cluster_is_refused(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    pod.start(blueprint_of(LARGE), 100_001)
    other = blueprint_of(LARGE)
    object.__setattr__(other, "cluster_id", "AAAAAAAAQAGAAAAAAAAAAg")

    assert pod.start(other, 100_001) == 1
    assert "cluster" in capsys.readouterr().err.lower()


def test_an_empty_disk_joins_a_quorum_that_has_formed_and_is_not_taken_for_the_lost_one(
    pod: Pod,
) -> None:
    blueprint = blueprint_of(LARGE, quorum_formed=True)

    assert pod.start(blueprint, 100_001) == 0
    assert pod.directory_id != directory_id(blueprint.cluster_id, 100_001)
    assert not pod.has_voters


def test_a_controller_that_comes_later_joins(pod: Pod) -> None:
    before = blueprint_of(LARGE)
    more = LARGE | {"controllers": LARGE["controllers"] | {"replicas": 5}}
    blueprint = blueprint_of(more, initial_controllers=before.initial_controllers)

    assert pod.start(blueprint, 100_004) == 0
    assert not pod.has_voters


def test_a_broker_is_formatted(pod: Pod) -> None:
    assert pod.start(blueprint_of(LARGE), 2) == 0
    assert not pod.has_voters
