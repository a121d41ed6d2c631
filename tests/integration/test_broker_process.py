"""Brokers and controllers as processes of their own, and the clients that use them."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.wire.messages.metadata_request import MetadataRequest
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from tests.support.cluster_process import BrokerNode, ProcessCluster, cluster_of
from tests.support.controller_process import CLUSTER_ID, free_controller_port, until
from tests.support.librdkafka import produce, read
from tests.support.raw_client import RawClient

VALUES = [b"value %d" % number for number in range(1_000)]


def values_of(bootstrap: str, topic: str, partition: int = 0) -> list[bytes | None]:
    return [one.value() for one in read(bootstrap, topic, len(VALUES), partition=partition)]


def led_by(cluster: ProcessCluster, topic: str, partitions: int) -> list[int]:
    return [cluster.wait_leader(topic, index) for index in range(partitions)]


def test_three_controllers_and_three_brokers_serve_through_any_of_them(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=3, brokers=3) as cluster:
        cluster.create_topic("spread", partitions=3)
        assert sorted(led_by(cluster, "spread", 3)) == sorted(cluster.brokers)

        for index, broker in enumerate(cluster.brokers.values()):
            topic = f"through-{index}"
            cluster.create_topic(topic)
            produce(broker.server, topic, VALUES)
            for other in cluster.brokers.values():
                assert values_of(other.server, topic) == VALUES

        for broker in cluster.brokers.values():
            broker.stop()
        for controller in cluster.quorum.running:
            controller.stop()


def test_a_killed_broker_comes_back_with_its_records(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=2) as cluster:
        cluster.create_topic("kept")
        leader = cluster.brokers[cluster.wait_leader("kept")]
        produce(cluster.bootstrap, "kept", VALUES)

        leader.kill()
        assert leader.clean_shutdown is None
        leader.restart()

        assert cluster.wait_leader("kept") == leader.id
        assert values_of(cluster.bootstrap, "kept") == VALUES


def test_all_nodes_killed_at_once_come_back_with_topics_and_records(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=1) as cluster:
        cluster.create_topic("kept")
        produce(cluster.bootstrap, "kept", VALUES)

        cluster.kill_all()
        cluster.start()

        assert values_of(cluster.bootstrap, "kept") == VALUES


def registered_epochs(broker: BrokerNode) -> list[tuple[int, int]]:
    """(epoch, that of the clean shutdown before) of each registration, in order."""
    found = re.findall(r"broker_epoch=(-?\d+) previous_broker_epoch=(-?\d+)", broker.output())
    return [(int(epoch), int(previous)) for epoch, previous in found]


def test_the_last_clean_shutdown_is_told_at_the_next_registration(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=1) as cluster:
        broker = cluster.brokers[11]

        broker.stop()
        left = json.loads(broker.clean_shutdown or "")
        broker.restart()
        broker.kill()
        broker.restart()

        (first, new), (second, clean), (_, unclean) = registered_epochs(broker)
        assert left == {"version": 0, "brokerEpoch": first}
        assert (new, clean, unclean) == (-1, first, -1)
        assert second > first


def test_a_broker_that_is_terminated_is_gone_for_the_others_at_once(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=2) as cluster:
        leaving, staying = cluster.brokers.values()

        leaving.stop()

        until(lambda: live_brokers(staying) == [staying.id], "one broker is left")


def live_brokers(broker: BrokerNode) -> list[int]:
    answer = broker.ask(MetadataRequest([]), MetadataResponse)
    return [] if answer is None else [node.node_id for node in answer.brokers]


def test_a_stopped_broker_is_fenced_and_comes_back(tmp_path: Path) -> None:
    quick = "broker.session.timeout.ms=2000\nbroker.heartbeat.interval.ms=500\n"
    with cluster_of(tmp_path, controllers=1, brokers=2, extra=quick) as cluster:
        stopped, other = cluster.brokers.values()

        stopped.suspend()
        until(lambda: live_brokers(other) == [other.id], "the stopped broker is fenced")
        stopped.resume()

        until(lambda: len(live_brokers(other)) == 2, "it is back")


def test_a_broker_may_start_before_its_controller_and_be_stopped_meanwhile(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=2, start=False) as cluster:
        early, given_up = cluster.brokers.values()
        early.start()
        given_up.start()
        assert given_up.child is not None
        until(lambda: "no controller answers" in given_up.output(), "it looks for a controller")

        given_up.stop()
        cluster.quorum.start()

        early.wait_started()
        early.stop()


def test_static_voters_are_found_too(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=1, start=False) as cluster:
        controller, broker = cluster.quorum[1], cluster.brokers[11]
        for node in (controller, broker):
            text = node.properties.read_text()
            servers = f"controller.quorum.bootstrap.servers={controller.server}"
            voters = f"controller.quorum.voters=1@{controller.server}"
            assert servers in text
            node.properties.write_text(text.replace(servers, voters))
        shutil.rmtree(controller.data)
        controller.format()
        cluster.start()

        cluster.create_topic("named")

        produce(cluster.bootstrap, "named", VALUES)
        assert values_of(cluster.bootstrap, "named") == VALUES


def test_links_between_processes_may_be_secured(tmp_path: Path) -> None:
    files = Path(__file__).parent / "tls"
    secured = "".join(
        f"internal.tls.{name}={files / path}\n"
        for name, path in (("certificate", "ours.pem"), ("key", "ours.key"), ("ca", "ours-ca.pem"))
    )
    with cluster_of(tmp_path, controllers=3, brokers=1, extra=secured) as cluster:
        cluster.create_topic("secret")
        produce(cluster.bootstrap, "secret", VALUES)
        assert values_of(cluster.bootstrap, "secret") == VALUES


# --- listeners


def test_port_0_is_advertised_as_it_was_bound(tmp_path: Path) -> None:
    def any_port(cluster: ProcessCluster) -> None:
        rewrite(
            cluster.brokers[11],
            f"PLAINTEXT://127.0.0.1:{cluster.brokers[11].port}",
            "PLAINTEXT://127.0.0.1:0",
        )

    with cluster_of(tmp_path, controllers=1, brokers=1, set_up=any_port) as cluster:
        listeners = said_listeners(cluster.brokers[11])
        port = int(listeners.rpartition(":")[2])
        assert listeners == f"PLAINTEXT://127.0.0.1:{port}"
        assert port != 0

        produce(f"127.0.0.1:{port}", "made-by-asking", VALUES)

        assert values_of(f"127.0.0.1:{port}", "made-by-asking") == VALUES


def test_each_listener_is_told_its_own_addresses(tmp_path: Path) -> None:
    ports = [free_controller_port(), free_controller_port()]

    def two_listeners(cluster: ProcessCluster) -> None:
        broker = cluster.brokers[11]
        rewrite(
            broker,
            f"listeners=PLAINTEXT://127.0.0.1:{broker.port}\n",
            f"listeners=INSIDE://:{ports[0]},OUTSIDE://127.0.0.1:{ports[1]}\n"
            f"advertised.listeners=INSIDE://localhost:{ports[0]},OUTSIDE://127.0.0.1:{ports[1]}\n"
            "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            "inter.broker.listener.name=INSIDE\n",
        )

    with cluster_of(tmp_path, controllers=1, brokers=1, set_up=two_listeners):
        hosts = [told_host(port) for port in ports]

        assert hosts == [("localhost", ports[0]), ("127.0.0.1", ports[1])]


def told_host(port: int) -> tuple[str, int]:
    with RawClient(("127.0.0.1", port)) as client:
        node = client.ask(MetadataRequest([]), 12, MetadataResponse).brokers[0]
        return node.host, node.port


def rewrite(broker: BrokerNode, old: str, new: str) -> None:
    text = broker.properties.read_text()
    assert old in text
    broker.properties.write_text(text.replace(old, new, 1))


def said_listeners(broker: BrokerNode) -> str:
    found = re.search(r"\] started .*listeners=(\S+)", broker.output())
    assert found is not None
    return found[1]


# --- directories


def test_one_bad_directory_of_two_does_not_keep_a_broker_from_serving(tmp_path: Path) -> None:
    def two_directories(cluster: ProcessCluster) -> None:
        broker = cluster.brokers[11]
        shutil.rmtree(broker.data)
        rewrite(broker, f"log.dirs={broker.data}", f"log.dirs={broker.data}-bad,{broker.data}")
        broker.format()
        shutil.rmtree(f"{broker.data}-bad")
        Path(f"{broker.data}-bad").write_text("not a directory")

    with cluster_of(tmp_path, controllers=1, brokers=1, set_up=two_directories) as cluster:
        cluster.create_topic("kept")
        produce(cluster.bootstrap, "kept", VALUES)
        assert values_of(cluster.bootstrap, "kept") == VALUES
        assert "log directory cannot be used" in cluster.brokers[11].output()


def test_a_new_directory_beside_a_formatted_one_is_taken_into_use(tmp_path: Path) -> None:
    def one_more(cluster: ProcessCluster) -> None:
        broker = cluster.brokers[11]
        rewrite(broker, f"log.dirs={broker.data}", f"log.dirs={broker.data},{broker.data}-new")

    with cluster_of(tmp_path, controllers=1, brokers=1, set_up=one_more) as cluster:
        broker = cluster.brokers[11]
        cluster.create_topic("spread", partitions=2)

        both = [broker.data, Path(f"{broker.data}-new")]

        assert len({directory_id(path) for path in both}) == 2
        assert all(list(path.glob("spread-*")) for path in both)


def directory_id(path: Path) -> bytes | None:
    return MetaProperties.decode((path / META_PROPERTIES_FILE).read_bytes()).directory_id


# --- what cannot be done is one line


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerNode]:
    """One whose controller is not there."""
    node = BrokerNode(tmp_path, 11)
    node.configure("127.0.0.1:1")
    node.format()
    yield node
    if node.is_running:
        node.kill()


def complaint(broker: BrokerNode) -> str:
    broker.start()
    assert broker.wait_ended() == 1
    assert broker.child is not None
    (line,) = broker.child.output().splitlines()
    return line


def test_a_directory_that_was_not_formatted_is_refused(broker: BrokerNode) -> None:
    shutil.rmtree(broker.data)

    line = complaint(broker)

    assert line.startswith("barnabas-broker: no meta.properties in ")
    assert "`kafka-storage format`" in line
    assert not broker.data.exists()


def test_a_directory_of_another_node_is_refused(broker: BrokerNode) -> None:
    rewrite(broker, "node.id=11", "node.id=12")

    assert "belongs to node 11" in complaint(broker)


def test_a_second_process_on_the_same_directory_is_refused(broker: BrokerNode) -> None:
    second = BrokerNode(broker.directory, 11)
    second.properties.write_text(broker.properties.read_text())
    broker.start()
    until(lambda: "no controller answers" in broker.output(), "the first has the directory")

    assert f"{broker.data}/.lock: locked by another process" in complaint(second)


COMBINED = "process.roles=controller,broker\nlisteners=CONTROLLER://127.0.0.1:2,"
SECURED = "listener.security.protocol.map=PLAINTEXT:SSL,CONTROLLER:PLAINTEXT\nlisteners="


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("listeners=", COMBINED, "`barnabas serve` runs what it says"),
        ("log.dirs=", "log.drs=", "unknown property log.drs; did you mean log.dirs?"),
        ("listeners=", SECURED, "is SSL, which is not served yet"),
        ("listeners=PLAINTEXT://127.0.0.1", "listeners=PLAINTEXT://0.0.0.0", "nonroutable"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    broker: BrokerNode, old: str, new: str, reason: str
) -> None:
    rewrite(broker, old, new)

    assert reason in complaint(broker)


def test_a_cluster_of_another_id_refuses_the_broker(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=1, start=False) as cluster:
        broker = cluster.brokers[11]
        meta = broker.data / META_PROPERTIES_FILE
        meta.write_text(meta.read_text().replace(CLUSTER_ID, "c29tZS1vdGhlci1jbHVzdA"))
        rewrite(broker, "log.dirs=", "initial.broker.registration.timeout.ms=1000\nlog.dirs=")
        cluster.quorum.start()

        broker.start()

        assert broker.wait_ended() == 1
        assert "not registered in time" in broker.output().splitlines()[-1]
        assert "is of cluster" in broker.output()


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with cluster_of(tmp_path, controllers=1, brokers=2, start=False) as cluster:
        first, second = cluster.brokers.values()
        rewrite(second, f":{second.port}\n", f":{first.port}\ninternal.listener=127.0.0.1:0\n")
        cluster.quorum.start()
        first.restart()

        second.start()

        assert second.wait_ended() == 1
        assert "cannot listen" in second.output().splitlines()[-1]
        assert "Traceback" not in second.output()
