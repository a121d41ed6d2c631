"""A controller as a process: what it needs to start, and what it takes from its surroundings."""

import shutil
from pathlib import Path

from barnabas_core.security.tls import InternalTls
from tests.support.controller_admin import Admin
from tests.support.controller_process import ControllerNode, Quorum, controllers
from tests.support.fake_broker import FakeBrokers
from tests.support.topic_stream import TopicStream

FILES = Path(__file__).parent / "tls"
"""Two authorities and a node of each."""


# --- starting


def refusal(node: ControllerNode, **environment: str) -> str:
    """The one line that a controller says when it does not start."""
    node.start(environment)
    assert node.child is not None
    assert node.child.process.wait(60) == 1
    (line,) = node.child.output().splitlines()
    return line


def lone_node(directory: Path, extra: str = "") -> ControllerNode:
    node = ControllerNode(directory, 1, extra)
    node.configure([node.server])
    return node


def test_a_directory_that_is_not_formatted_is_refused(tmp_path: Path) -> None:
    line = refusal(lone_node(tmp_path))

    assert "format the directory with `kafka-storage format` first" in line


def test_a_node_that_is_no_controller_is_refused(tmp_path: Path) -> None:
    node = lone_node(tmp_path)
    node.format("--standalone")

    line = refusal(
        node,
        KAFKA_PROCESS_ROLES="broker",
        KAFKA_LISTENERS="PLAINTEXT://127.0.0.1:9092",
    )

    assert "process.roles does not name controller" in line


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    node = lone_node(tmp_path)
    node.format("--standalone")

    line = refusal(node, KAFKA_NODE_ID="7")

    assert "belongs to node 1 of cluster" in line
    assert "not to node 7" in line


def test_one_directory_has_one_process(tmp_path: Path) -> None:
    with controllers(tmp_path, 1) as quorum:
        second = ControllerNode(tmp_path / "second", 1)
        second.configure([second.server])
        text = second.properties.read_text()
        second.properties.write_text(text.replace(str(second.data), str(quorum[1].data)))

        assert "lock" in refusal(second)

        assert quorum[1].is_running


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """As in Kafka's container image."""
    node = lone_node(tmp_path)
    node.format("--standalone")
    listeners = node.properties.read_text().replace("node.id=1", "node.id=7")
    node.properties.write_text(listeners.replace(f":{node.port}", ":1"))
    quorum = Quorum(tmp_path)
    quorum.nodes[1] = node

    try:
        node.start(
            {
                "KAFKA_NODE_ID": "1",
                "KAFKA_LISTENERS": f"CONTROLLER://{node.server}",
                "KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS": node.server,
            }
        )
        node.wait_answers()
        assert quorum.wait_active() == 1
        node.stop()
    finally:
        quorum.close()


# --- TLS on the links


class Certificates:
    """Files in a place where they can be replaced."""

    def __init__(self, directory: Path, authority: str = "ours") -> None:
        self._directory = directory
        directory.mkdir()
        self.renew(authority)

    def renew(self, authority: str) -> None:
        for source, name in (("{}.pem", "c"), ("{}.key", "k"), ("{}-ca.pem", "a")):
            new = self._directory / "new"
            shutil.copy(FILES / source.format(authority), new)
            new.rename(self._directory / name)

    @property
    def properties(self) -> str:
        names = {"certificate": "c", "key": "k", "ca": "a"}
        return "".join(
            f"internal.tls.{name}={self._directory / file}\n" for name, file in names.items()
        )

    @property
    def tls(self) -> InternalTls:
        return InternalTls(*(str(self._directory / name) for name in ("c", "k", "a")))


def test_controllers_and_brokers_of_one_authority_form_a_cluster(tmp_path: Path) -> None:
    ours = Certificates(tmp_path / "ours")
    theirs = Certificates(tmp_path / "theirs", "theirs")
    with controllers(tmp_path, 3, ours.properties) as quorum:
        stranger = quorum.make(4)
        stranger.extra = theirs.properties
        quorum.add_observer(4)
        links = [quorum[one].links for one in (1, 2, 3)]
        with FakeBrokers(links, tls=ours.tls), Admin(quorum) as admin:
            assert admin.create_topic("secured", 2, 2).topic_id is not None
            described = admin.describe_quorum()
        assert sorted(voter.replica_id for voter in described.current_voters) == [1, 2, 3]
        assert all(voter.log_end_offset > 0 for voter in described.current_voters)
        assert 4 not in {observer.replica_id for observer in described.observers}


def test_certificates_are_renewed_under_running_controllers(tmp_path: Path) -> None:
    """To another authority's altogether, so that the old ones are of no use."""
    files = Certificates(tmp_path / "files")
    with (
        controllers(tmp_path, 3, files.properties) as quorum,
        FakeBrokers(quorum.links, tls=files.tls),
        TopicStream(quorum) as topics,
    ):
        topics.wait_for(5)
        files.renew("theirs")
        for node in list(quorum.running):
            node.kill()
            topics.wait_for(5)
            node.start()
            node.wait_answers()
            topics.wait_for(5)
