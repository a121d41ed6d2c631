"""`EmbeddedCluster` with several brokers: stopped, killed, started again, leaders moved."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import ApiKey, ClusterError, EmbeddedCluster
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from tests.support.librdkafka import produce, read
from tests.support.raw_client import RawClient


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3) as running:
        yield running


def address_of(cluster: EmbeddedCluster, broker_id: int) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers.split(",")[broker_id - 1].rpartition(":")
    return host, int(port)


def metadata(cluster: EmbeddedCluster, broker_id: int, *topics: str) -> MetadataResponse:
    asked = MetadataRequest([MetadataRequestTopic(name=name) for name in topics])
    asked.allow_auto_topic_creation = False
    with RawClient(address_of(cluster, broker_id)) as client:
        return client.ask(asked, 12, MetadataResponse)


def brokers_known_to(cluster: EmbeddedCluster, broker_id: int) -> list[int]:
    return [broker.node_id for broker in metadata(cluster, broker_id).brokers]


def values(start: int, count: int) -> list[bytes]:
    return [b"value %d" % number for number in range(start, start + count)]


def test_three_brokers_know_of_each_other_and_of_topics(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("spread", partitions=6, replication_factor=1)

    for broker_id in (1, 2, 3):
        answer = metadata(cluster, broker_id, "spread")
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        leaders = sorted(partition.leader_id for partition in answer.topics[0].partitions)
        assert leaders == [1, 1, 2, 2, 3, 3]
        assert cluster.leader_of("spread", 0) in (1, 2, 3)


def test_every_broker_takes_records_for_what_it_leads(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("spread", partitions=3, replication_factor=1)

    placed = produce(
        cluster.bootstrap_servers,
        "spread",
        values(0, 300),
        partitioner="random",
        sticky_partitioning_linger_ms=0,
    )

    assert {partition for partition, _ in placed} == {0, 1, 2}
    for partition in range(3):
        count = sum(1 for at, _ in placed if at == partition)
        assert len(read(cluster.bootstrap_servers, "spread", count, partition=partition)) == count


@pytest.mark.parametrize("end", ["stop_broker", "kill_broker"])
def test_a_broker_comes_back_where_it_was_with_what_it_had(
    cluster: EmbeddedCluster, end: str
) -> None:
    cluster.create_topic("kept", replication_factor=1)
    leader = cluster.leader_of("kept")
    assert leader is not None
    produce(cluster.bootstrap_servers, "kept", values(0, 100), acks="all")
    before = cluster.bootstrap_servers

    getattr(cluster, end)(leader)
    with pytest.raises(OSError, match="refused"):
        RawClient(address_of(cluster, leader))
    cluster.start_broker(leader)

    assert cluster.bootstrap_servers == before
    produce(cluster.bootstrap_servers, "kept", values(100, 100), acks="all")
    found = read(cluster.bootstrap_servers, "kept", 200)
    assert [message.value() for message in found] == values(0, 200)


def test_a_killed_broker_is_missed_and_a_stopped_one_said_goodbye(
    cluster: EmbeddedCluster,
) -> None:
    cluster.stop_broker(3)
    assert brokers_known_to(cluster, 1) == [1, 2]

    cluster.kill_broker(2)
    while brokers_known_to(cluster, 1) != [1]:
        threading.Event().wait(0.05)

    cluster.start_broker(2)
    cluster.start_broker(3)
    assert brokers_known_to(cluster, 1) == [1, 2, 3]


def test_a_killed_broker_writes_nothing_more(cluster: EmbeddedCluster) -> None:
    """What a client sent and was not answered may be lost; nothing is tidied up."""
    cluster.create_topic("cut", replication_factor=1)
    leader = cluster.leader_of("cut")
    assert leader is not None
    produce(cluster.bootstrap_servers, "cut", values(0, 10))
    assert cluster.data is not None
    directory = Path(cluster.data, f"node-{leader}")

    cluster.kill_broker(leader)
    files = {path: path.stat().st_mtime_ns for path in directory.glob("cut-0/*")}

    assert not (directory / ".kafka_cleanshutdown").exists()
    cluster.create_topic("another", replication_factor=1, partitions=2)
    assert {path: path.stat().st_mtime_ns for path in directory.glob("cut-0/*")} == files


def test_the_connections_of_a_killed_broker_are_cut(cluster: EmbeddedCluster) -> None:
    with RawClient(address_of(cluster, 2)) as client:
        client.ask(MetadataRequest([]), 12, MetadataResponse)

        cluster.kill_broker(2)

        assert client.is_closed()


def test_the_controller_outlives_the_broker_beside_it(cluster: EmbeddedCluster) -> None:
    cluster.kill_broker(1)

    cluster.create_topic("new", partitions=4, replication_factor=1)

    assert {cluster.leader_of("new", number) for number in range(4)} <= {1, 2, 3}
    cluster.start_broker(1)


def test_a_broker_that_is_not_there_cannot_be_stopped_or_started(
    cluster: EmbeddedCluster,
) -> None:
    with pytest.raises(ClusterError, match="no broker 4"):
        cluster.stop_broker(4)
    with pytest.raises(ClusterError, match="running already"):
        cluster.start_broker(2)
    cluster.stop_broker(2)
    with pytest.raises(ClusterError, match="not running"):
        cluster.kill_broker(2)
    with pytest.raises(ClusterError, match="not running"):
        cluster.move_leader("t", 0, 2)


def test_topics_are_created_and_deleted_as_clients_would(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("mine", partitions=2, config={"cleanup.policy": "compact"})

    with pytest.raises(ClusterError, match="TOPIC_ALREADY_EXISTS"):
        cluster.create_topic("mine")
    with pytest.raises(ClusterError, match="INVALID_REPLICATION_FACTOR"):
        cluster.create_topic("wide", replication_factor=4)
    with pytest.raises(ClusterError, match="no partition 2"):
        cluster.leader_of("mine", 2)
    cluster.delete_topic("mine")
    with pytest.raises(ClusterError, match="no topic mine"):
        cluster.leader_of("mine")


def test_the_async_form_has_the_same_calls() -> None:
    async def scenario() -> tuple[list[int], int | None]:
        async with EmbeddedCluster(brokers=2) as cluster:
            await cluster.create_topic("t", partitions=2, replication_factor=1)
            await cluster.stop_broker(2)
            await cluster.start_broker(2)
            await cluster.kill_broker(2)
            return cluster.broker_ids, await cluster.leader_of("t", 0)

    ids, leader = asyncio.run(scenario())

    assert ids == [1, 2]
    assert leader in (1, 2)


def test_what_the_configuration_says_holds_for_controller_and_brokers() -> None:
    config = {"num.partitions": "3", "default.replication.factor": "1"}
    with EmbeddedCluster(brokers=2, config=config) as cluster:
        cluster.create_topic("by-default")
        (topic,) = metadata(cluster, 1, "by-default").topics

    assert [len(one.replica_nodes) for one in topic.partitions] == [1, 1, 1]


def test_the_clusters_own_thread_cannot_wait_for_the_cluster() -> None:
    with EmbeddedCluster() as cluster:
        asked: list[str] = []

        def ask(*_: object) -> bool:
            try:
                cluster.leader_of("t")
            except RuntimeError as error:
                asked.append(str(error))
            return False

        cluster.faults.drop(ApiKey.METADATA, when=ask)
        metadata(cluster, 1)

    assert asked == ["the cluster's own thread cannot wait for the cluster"]
