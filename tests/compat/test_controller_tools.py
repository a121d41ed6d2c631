"""Kafka's own tools, 4.3.1, against our controllers as processes (KIP-919), and on their files."""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from barnabas_core.wire.primitive import uuid_text
from tests.support.controller_admin import Admin
from tests.support.controller_process import (
    CLUSTER_ID,
    ControllerNode,
    Quorum,
    controllers,
    until,
)
from tests.support.external import JavaRuntime
from tests.support.fake_broker import FakeBrokers

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
CONFIGS = "kafka.admin.ConfigCommand"
SHELL = "org.apache.kafka.shell.MetadataShell"
STORAGE = "kafka.tools.StorageTool"

FREQUENT_SNAPSHOTS = "metadata.log.max.record.bytes.between.snapshots=2000\n"
SHELL_ATTEMPTS = 10


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quorum]:
    """Controller 1 votes and is active, controller 2 follows."""
    with controllers(tmp_path_factory.mktemp("quorum"), 1) as found:
        found.wait_active()
        found.add_observer(2)
        yield found


def complaint(java: JavaRuntime, tool: str, *arguments: str) -> str:
    """Of a tool that does not get what it asks for."""
    done = subprocess.run(
        java.command(tool, *arguments), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def fields(printed: str) -> dict[str, str]:
    """`Name:   value` lines."""
    found = re.findall(r"^(\w+):\s+(.*)$", printed, re.MULTILINE)
    return {name: value.strip() for name, value in found}


def voters(printed: str) -> list[int]:
    return sorted(voter["id"] for voter in json.loads(fields(printed)["CurrentVoters"]))


# --- kafka-metadata-quorum


@pytest.mark.parametrize("asked", [1, 2], ids=["active", "standby"])
def test_the_quorum_is_described_by_whichever_controller_is_asked(
    java: JavaRuntime, quorum: Quorum, asked: int
) -> None:
    printed = java.run(
        QUORUM, "--bootstrap-controller", quorum[asked].server, "describe", "--status"
    )

    status = fields(printed)
    assert (status["ClusterId"], status["LeaderId"]) == (CLUSTER_ID, "1")
    assert int(status["HighWatermark"]) > 0
    (voter,) = json.loads(status["CurrentVoters"])
    assert voter == {
        "id": 1,
        "directoryId": uuid_text(quorum[1].directory_id),
        "endpoints": [f"CONTROLLER://{quorum[1].server}"],
    }
    (observer,) = json.loads(status["CurrentObservers"])
    assert observer == {"id": 2, "directoryId": uuid_text(quorum[2].directory_id)}


def test_replication_is_described(java: JavaRuntime, quorum: Quorum) -> None:
    printed = java.run(
        QUORUM, "--bootstrap-controller", quorum.servers, "describe", "--replication"
    )

    head, *rows = [line.split() for line in printed.strip().splitlines()]
    assert head[:4] == ["NodeId", "DirectoryId", "LogEndOffset", "Lag"]
    by_id = {int(row[0]): row for row in rows}
    assert by_id[1][1] == uuid_text(quorum[1].directory_id)
    assert {node_id: row[-1] for node_id, row in by_id.items()} == {1: "Leader", 2: "Observer"}
    assert all(int(row[4]) > 0 and int(row[5]) > 0 for row in rows), "times of fetches"


def test_a_controller_is_added_and_removed(java: JavaRuntime, tmp_path: Path) -> None:
    with controllers(tmp_path, 1) as grown:
        grown.wait_active()
        new = grown.add_observer(2)
        at = ("--bootstrap-controller", grown[1].server)
        directory_id = uuid_text(new.directory_id)
        who = ("--controller-id", "2", "--controller-directory-id", directory_id)

        added = java.run(QUORUM, *at, "--command-config", str(new.properties), "add-controller")
        assert f"Added controller 2 with directory id {directory_id}" in added
        assert voters(java.run(QUORUM, *at, "describe", "--status")) == [1, 2]
        again = complaint(
            java, QUORUM, *at, "--command-config", str(new.properties), "add-controller"
        )
        assert "DuplicateVoterException" in again

        removed = java.run(QUORUM, *at, "remove-controller", *who)
        assert f"2 with directory id {directory_id}" in removed
        assert voters(java.run(QUORUM, *at, "describe", "--status")) == [1]
        assert "VoterNotFoundException" in complaint(java, QUORUM, *at, "remove-controller", *who)


# --- kafka-features


def test_features_are_described_downgraded_and_upgraded(java: JavaRuntime, quorum: Quorum) -> None:
    at = ("--bootstrap-controller", quorum.servers)

    described = java.run(FEATURES, *at, "describe")
    rows = {line.split()[1]: line.split()[2:] for line in described.strip().splitlines()}
    assert rows["metadata.version"][5] == "4.3-IV0"
    assert rows["kraft.version"][:6] == [
        "SupportedMinVersion:", "0", "SupportedMaxVersion:", "1", "FinalizedVersionLevel:", "1",
    ]  # fmt: skip
    assert set(rows) == {
        "eligible.leader.replicas.version", "group.version", "kraft.version", "metadata.version",
        "share.version", "streams.version", "transaction.version",
    }  # fmt: skip

    down = java.run(FEATURES, *at, "downgrade", "--feature", "group.version=0")
    assert "group.version was downgraded to 0." in down
    up = java.run(FEATURES, *at, "upgrade", "--feature", "group.version=1")
    assert "group.version was upgraded to 1." in up
    refused = complaint(java, FEATURES, *at, "upgrade", "--feature", "transaction.version=9")
    assert "Could not upgrade transaction.version to 9." in refused


def test_a_quorum_of_fixed_voters_is_upgraded_to_one_that_can_change(
    java: JavaRuntime, tmp_path: Path
) -> None:
    """kraft.version 0 to 1 (KIP-853): the directory ids come into the log, and voters may go."""
    static = Quorum(tmp_path)
    nodes = [static.make(number) for number in (1, 2, 3)]
    named = ",".join(f"{node.id}@{node.server}" for node in nodes)
    for node in nodes:
        node.configure([])
        text = node.properties.read_text()
        empty = "controller.quorum.bootstrap.servers=\n"
        assert empty in text
        node.properties.write_text(text.replace(empty, f"controller.quorum.voters={named}\n"))
        node.format()
    try:
        static.start()
        static.wait_active()
        at = ("--bootstrap-controller", static.servers)
        assert voters(java.run(QUORUM, *at, "describe", "--status")) == [1, 2, 3]

        upgraded = java.run(FEATURES, *at, "upgrade", "--feature", "kraft.version=1")
        assert "kraft.version was upgraded to 1." in upgraded

        status = json.loads(fields(java.run(QUORUM, *at, "describe", "--status"))["CurrentVoters"])
        ids = {voter["id"]: voter["directoryId"] for voter in status}
        assert ids == {node.id: uuid_text(node.directory_id) for node in nodes}
        who = ("--controller-id", "3", "--controller-directory-id", ids[3])
        java.run(QUORUM, *at, "remove-controller", *who)
        assert voters(java.run(QUORUM, *at, "describe", "--status")) == [1, 2]
    finally:
        static.close()


# --- kafka-configs, kafka-cluster


def test_configs_of_brokers_are_altered_and_described(java: JavaRuntime, quorum: Quorum) -> None:
    at = ("--bootstrap-controller", quorum.servers, "--entity-type", "brokers", "--entity-default")

    java.run(CONFIGS, *at, "--alter", "--add-config", "log.retention.ms=12345")
    described = java.run(CONFIGS, *at, "--describe")
    assert "log.retention.ms=12345 sensitive=false" in described
    assert "{DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=12345}" in described

    java.run(CONFIGS, *at, "--alter", "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in java.run(CONFIGS, *at, "--describe")
    refused = complaint(java, CONFIGS, *at, "--alter", "--add-config", "log.retention.ms=abc")
    assert "Invalid value abc for configuration log.retention.ms" in refused


def test_a_controllers_own_configs_are_described(java: JavaRuntime, quorum: Quorum) -> None:
    printed = java.run(
        CONFIGS, "--bootstrap-controller", quorum[1].server,
        "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all",
    )  # fmt: skip

    assert re.search(r"^\s*node\.id=1 .*STATIC_BROKER_CONFIG:node\.id=1", printed, re.MULTILINE)
    assert re.search(r"^\s*broker\.session\.timeout\.ms=9000 ", printed, re.MULTILINE)


def test_the_cluster_is_identified_and_its_controllers_are_listed(
    java: JavaRuntime, quorum: Quorum
) -> None:
    at = ("--bootstrap-controller", quorum.servers)

    assert java.run(CLUSTER, "cluster-id", *at).strip() == f"Cluster ID: {CLUSTER_ID}"
    listed = java.run(CLUSTER, "list-endpoints", *at)
    rows = [line.split() for line in listed.strip().splitlines()[1:]]
    assert [(row[0], f"{row[1]}:{row[2]}", row[-1]) for row in rows] == [
        (str(node.id), node.server, "controller") for node in quorum.nodes.values()
    ]
    unknown = complaint(java, CLUSTER, "unregister", "--id", "77", *at)
    assert "BrokerIdNotRegisteredException" in unknown


# --- what is on disk


def assert_shell(java: JavaRuntime, file: Path, command: tuple[str, ...], *expected: str) -> None:
    """The metadata shell prints all of `expected`, which are regular expressions.

    It now and then looks before it has read the file, Kafka's own files included, and shows what an
    empty image has: asked again then, until everything is there.
    """
    printed = ""
    for _ in range(SHELL_ATTEMPTS):
        printed = java.run(SHELL, "--snapshot", str(file), *command)
        if all(re.search(pattern, printed, re.DOTALL) for pattern in expected):
            return
    raise AssertionError(f"{command} on {file.name} does not print {expected}:\n{printed}")


def test_kafkas_shell_reads_our_log_and_snapshots(java: JavaRuntime, tmp_path: Path) -> None:
    with controllers(tmp_path, 1, FREQUENT_SNAPSHOTS) as written:
        node = written[written.wait_active()]
        until(lambda: "registered" in node.output(), "the controller is in the metadata itself")
        with FakeBrokers(written.links), Admin(written) as admin:
            made = [admin.create_topic(f"topic-{number}", 3, 2) for number in range(20)]
            until(lambda: len(list(node.metadata.glob("*.checkpoint"))) > 1, "a snapshot")
        node.stop()

    newest = max(node.metadata.glob("*.checkpoint"))
    log = min(node.metadata.glob("*.log"))
    first = made[0]
    assert first.topic_id is not None
    by_id = f"/image/topics/byId/{uuid_text(first.topic_id)}"
    for file in (newest, log):
        shown = partial(assert_shell, java, file)
        shown(("tree", "/image/features"), r"metadataVersion:\s+Optional\[4\.3-IV0\]")
        shown(
            ("cat", "/image/topics/byName/topic-0/2"),
            r"replicas=\[10\d, 10\d\]",
            "leaderRecoveryState=RECOVERED",
        )
        shown(("tree", by_id), "topic-0")
        shown(
            ("tree", "/image/cluster"),
            rf"ControllerRegistration.*host='127\.0\.0\.1', port={node.port}",
            r"(BrokerRegistration\(id=.*){3}",
        )


@pytest.mark.parametrize("how", ["standalone", "static"])
def test_a_directory_that_kafkas_tool_formatted_starts_our_controller(
    java: JavaRuntime, tmp_path: Path, how: str
) -> None:
    node = ControllerNode(tmp_path, 1)
    node.configure([node.server])
    arguments = ["--standalone"]
    if how == "static":
        text = node.properties.read_text()
        named = "controller.quorum.voters=1@"
        node.properties.write_text(text.replace("controller.quorum.bootstrap.servers=", named))
        arguments = []
    java.run(STORAGE, "format", "-t", CLUSTER_ID, "-c", str(node.properties), *arguments)
    lone = Quorum(tmp_path)
    lone.nodes[1] = node

    try:
        node.start()
        node.wait_answers()
        lone.wait_active()
        with FakeBrokers(lone.links), Admin(lone) as admin:
            assert admin.create_topic("first").topic_id is not None
            assert admin.voter_ids == [1]
        node.stop()
    finally:
        lone.close()
