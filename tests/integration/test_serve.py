"""`barnabas serve`: a node that is what its file says, Kafka's quick start among others."""

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.primitive import uuid_text
from tests.support.controller_process import CONTROLLERS, PORT_OFFSET, until
from tests.support.librdkafka import consumer, produce, read
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.serve_process import ServedNode

VALUES = [b"value %d" % number for number in range(1_000)]

# What Kafka 4 ships as config/server.properties, without its comments.
QUICK_START = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
# Otherwise every group waits for others to come.
AT_ONCE = "group.initial.rebalance.delay.ms=0"

MakeNode = Callable[[int], ServedNode]


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[MakeNode]:
    """Nodes of Kafka's quick start, on ports and in directories of their own; not formatted."""
    nodes = []

    def make(node_id: int) -> ServedNode:
        node = ServedNode(tmp_path, node_id)
        nodes.append(node)
        own = {
            "9092": str(node.port),
            "9093": str(node.controller_port),
            "/tmp/kraft-combined-logs": str(node.data),
            "node.id=1": f"node.id={node_id}",
        }
        node.configure(re.sub("|".join(own), lambda found: own[found[0]], QUICK_START))
        return node

    yield make
    for node in nodes:
        print(node.output())
        if node.is_running:
            node.kill()


@pytest.fixture
def quick_start(make_node: MakeNode) -> ServedNode:
    node = make_node(1)
    node.format("--standalone")
    return node


def rewrite(node: ServedNode, old: str, new: str) -> None:
    text = node.properties.read_text()
    assert old in text
    node.configure(text.replace(old, new))


def values_of(node: ServedNode, topic: str) -> list[bytes | None]:
    return [one.value() for one in read(node.server, topic, len(VALUES))]


def group_reads(server: str, group: str, count: int, protocol: str = "classic") -> list[bytes]:
    """What a new member of the group is given of "grouped"; it commits that and leaves."""
    member = consumer(server, group_id=group, group_protocol=protocol, auto_offset_reset="earliest")
    try:
        member.subscribe(["grouped"])
        found: list[bytes] = []
        while len(found) < count:
            messages = member.consume(count - len(found), 60.0)
            assert messages, f"{len(found)} of {count} records came"
            assert all(message.error() is None for message in messages)
            found += [message.value() or b"" for message in messages]
        member.commit(asynchronous=False)
        return found
    finally:
        member.close()


def active_controller(node: ServedNode) -> int:
    """According to its CONTROLLER listener."""
    try:
        with RawClient(("127.0.0.1", node.controller_port)) as client:
            request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
            return client.ask(request, 2, DescribeClusterResponse).controller_id
    except (OSError, ConnectionClosed):
        return -1


def live_brokers(node: ServedNode) -> list[int]:
    try:
        with RawClient(("127.0.0.1", node.port)) as client:
            answer = client.ask(MetadataRequest([]), 12, MetadataResponse)
    except (OSError, ConnectionClosed):
        return []
    return [broker.node_id for broker in answer.brokers]


def is_listened_on(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# --- both roles in one process


def test_kafkas_quick_start_serves_clients_and_controllers(quick_start: ServedNode) -> None:
    quick_start.restart()

    produce(quick_start.server, "quickstart-events", VALUES)

    assert values_of(quick_start, "quickstart-events") == VALUES
    assert active_controller(quick_start) == 1
    assert not is_listened_on(quick_start.controller_port + PORT_OFFSET)


def test_a_combined_node_that_is_terminated_leaves_in_order(quick_start: ServedNode) -> None:
    quick_start.restart()
    produce(quick_start.server, "kept", VALUES)

    quick_start.stop()
    left = json.loads(quick_start.clean_shutdown or "")
    quick_start.restart()

    assert f"previous_broker_epoch={left['brokerEpoch']}" in quick_start.output()
    assert "heartbeat" not in quick_start.output()
    assert values_of(quick_start, "kept") == VALUES


def test_a_combined_node_that_is_killed_comes_back_with_its_records(
    quick_start: ServedNode,
) -> None:
    quick_start.restart()
    produce(quick_start.server, "kept", VALUES)

    quick_start.kill()
    quick_start.restart()

    assert values_of(quick_start, "kept") == VALUES


def test_groups_go_on_from_what_they_committed_when_their_node_comes_back(
    quick_start: ServedNode,
) -> None:
    rewrite(quick_start, "num.partitions=1", f"num.partitions=1\n{AT_ONCE}")
    quick_start.restart()
    produce(quick_start.server, "grouped", VALUES)
    for protocol in ("classic", "consumer"):
        assert group_reads(quick_start.server, protocol, 300, protocol) == VALUES[:300]

    quick_start.stop()
    quick_start.restart()
    assert group_reads(quick_start.server, "classic", 300) == VALUES[300:600]
    quick_start.kill()
    quick_start.restart()

    assert group_reads(quick_start.server, "classic", 400) == VALUES[600:]
    assert group_reads(quick_start.server, "consumer", 700, "consumer") == VALUES[300:]
    assert "consumer groups are not built" not in quick_start.output()


def test_a_second_process_is_refused_and_the_first_goes_on(
    tmp_path: Path, quick_start: ServedNode
) -> None:
    second = ServedNode(tmp_path / "second")
    shutil.copy(quick_start.properties, second.properties)
    quick_start.restart()

    line = second.complaint()

    assert line.startswith(f"barnabas: {quick_start.data}/.lock: locked by another process")
    produce(quick_start.server, "unmoved", VALUES)


def test_a_static_quorum_of_one_is_the_node_itself(make_node: MakeNode) -> None:
    node = make_node(1)
    servers = f"controller.quorum.bootstrap.servers=localhost:{node.controller_port}"
    rewrite(node, servers, f"controller.quorum.voters=1@localhost:{node.controller_port}")
    node.format()

    node.restart()

    produce(node.server, "kept", VALUES)
    assert values_of(node, "kept") == VALUES


def test_the_roles_may_have_directories_of_their_own(make_node: MakeNode) -> None:
    node = make_node(1)
    node.configure(node.properties.read_text() + f"metadata.log.dir={node.directory}/metadata\n")
    node.format("--standalone")

    node.restart()
    produce(node.server, "kept", VALUES)

    assert (node.directory / "metadata" / "__cluster_metadata-0").is_dir()
    assert not (node.data / "__cluster_metadata-0").exists()
    assert (node.data / "kept-0").is_dir()


def test_three_combined_nodes_are_one_cluster(make_node: MakeNode) -> None:
    nodes = [make_node(node_id) for node_id in (1, 2, 3)]
    servers = ",".join(f"localhost:{node.controller_port}" for node in nodes)
    ids = ",".join(
        f"{node.id}@localhost:{node.controller_port}:{uuid_text(bytes([node.id]) * 16)}"
        for node in nodes
    )
    for node in nodes:
        rewrite(node, f"servers=localhost:{node.controller_port}", f"servers={servers}")
        rewrite(node, "num.partitions=1", "num.partitions=1\ndefault.replication.factor=3")
        offsets = "offsets.topic.replication.factor="
        rewrite(node, f"{offsets}1", f"{offsets}3\noffsets.topic.num.partitions=6\n{AT_ONCE}")
        node.format("--initial-controllers", ids)
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait_started()
        until(lambda node=node: live_brokers(node) == [1, 2, 3], "all are there")  # type: ignore[misc]
    produce(nodes[0].server, "shared", VALUES)
    assert values_of(nodes[2], "shared") == VALUES
    produce(nodes[0].server, "grouped", VALUES)
    # Their shards are led by all three nodes.
    groups = [f"group-{number}" for number in range(6)]
    for group in groups:
        assert group_reads(nodes[0].server, group, 300) == VALUES[:300]

    lost = next(node for node in nodes if node.id == active_controller(nodes[0]))
    lost.kill()
    others = [node for node in nodes if node is not lost]

    until(lambda: active_controller(others[0]) not in (-1, lost.id), "another controller is active")
    until(lambda: live_brokers(others[0]) == [node.id for node in others], "two are left")
    assert values_of(others[0], "shared") == VALUES
    for group in groups:
        assert group_reads(others[0].server, group, 300) == VALUES[300:600]
    lost.restart()
    produce(others[0].server, "after", VALUES)
    assert values_of(lost, "after") == VALUES
    for node in nodes:
        node.stop()


def test_other_brokers_join_a_combined_node_that_has_an_internal_listener(
    make_node: MakeNode,
) -> None:
    first, second = make_node(1), make_node(2)
    internal = f"internal.listener=127.0.0.1:{first.controller_port + PORT_OFFSET}\n"
    first.configure(first.properties.read_text() + internal)
    first.format("--standalone")
    as_broker(second, controller=first)
    second.format()

    first.restart()
    second.restart()

    until(lambda: live_brokers(first) == [1, 2], "both are there")
    second.stop()
    until(lambda: live_brokers(first) == [1], "the other has left")


def as_broker(node: ServedNode, controller: ServedNode) -> None:
    rewrite(node, "process.roles=broker,controller", "process.roles=broker")
    rewrite(node, f",CONTROLLER://:{node.controller_port}", "")
    rewrite(node, f",CONTROLLER://localhost:{node.controller_port}", "")
    rewrite(node, f":{node.controller_port}", f":{controller.controller_port}")


def as_controller(node: ServedNode) -> None:
    rewrite(node, "process.roles=broker,controller", "process.roles=controller")
    rewrite(node, f"PLAINTEXT://:{node.port},", "")
    rewrite(node, f"PLAINTEXT://localhost:{node.port},", "")
    rewrite(node, "inter.broker.listener.name=PLAINTEXT\n", "")


# --- one role


def test_one_role_each_makes_a_cluster_of_two_processes(make_node: MakeNode) -> None:
    controller, broker = make_node(1), make_node(2)
    as_controller(controller)
    controller.format("--standalone")
    as_broker(broker, controller)
    broker.format()

    controller.restart()
    broker.restart()
    produce(broker.server, "grouped", VALUES)

    assert values_of(broker, "grouped") == VALUES
    assert group_reads(broker.server, "a group", 300) == VALUES[:300]
    assert active_controller(controller) == 1
    broker.stop()
    controller.stop()


# --- what cannot be done is one line


def test_a_node_that_was_not_formatted_is_refused(make_node: MakeNode) -> None:
    line = make_node(1).complaint()

    assert line.startswith("barnabas: no meta.properties in ")
    assert "`kafka-storage format`" in line


def test_voters_that_only_the_log_knows_are_not_left_out_in_silence(make_node: MakeNode) -> None:
    node = make_node(1)
    own = f"1@localhost:{node.controller_port}:{uuid_text(bytes([1]) * 16)}"
    other = f"2@localhost:1:{uuid_text(bytes([2]) * 16)}"
    node.format("--initial-controllers", f"{own},{other}")
    node.start()

    assert node.wait_ended() == 1
    last = node.output().splitlines()[-1]
    assert last.startswith("barnabas: the quorum has other voters, 2")
    assert "Traceback" not in node.output()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("process.roles=broker,controller", "process.roles=janitor", "janitor"),
        ("num.io", "coordinator.mode=far\nnum.io", "must be one of: local, remote"),
        ("log.dirs=", "log.dris=", "did you mean log.dirs?"),
        ("CONTROLLER:PLAINTEXT", "CONTROLLER:SASL_SSL", "is SASL_SSL, which is not served yet"),
        ("PLAINTEXT:PLAINTEXT,SSL", "PLAINTEXT:SSL,SSL", "is SSL, which is not served yet"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    quick_start: ServedNode, old: str, new: str, reason: str
) -> None:
    rewrite(quick_start, old, new)

    line = quick_start.complaint()

    assert line.startswith("barnabas: ")
    assert reason in line


def test_a_file_that_is_not_there_is_one_line(make_node: MakeNode) -> None:
    node = make_node(1)
    node.properties.unlink()

    assert node.complaint() == f"barnabas: {node.properties}: no such file"
