"""`EmbeddedCluster` with topics that three brokers keep: leaders that go, and leaders that move."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message, Producer

from barnabas import EmbeddedCluster
from tests.support.controller_process import until
from tests.support.librdkafka import produce, read


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3, config={"min.insync.replicas": "2"}) as running:
        yield running


def values(start: int, count: int) -> list[bytes]:
    return [b"value %d" % number for number in range(start, start + count)]


def test_topics_have_three_replicas_if_nothing_else_is_said(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("kept")

    produce(cluster.bootstrap_servers, "kept", values(0, 100), acks="all")

    partition = cluster.broker.view.partition("kept", 0)
    assert partition is not None
    assert sorted(partition.replicas) == sorted(partition.isr) == [1, 2, 3]


@pytest.mark.parametrize("end", ["stop_broker", "kill_broker"])
def test_nothing_acknowledged_is_lost_when_the_leader_goes(
    cluster: EmbeddedCluster, end: str
) -> None:
    cluster.create_topic("kept")
    leader = cluster.leader_of("kept")
    assert leader is not None
    acknowledged: list[bytes] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        acknowledged.append(message.value() or b"")

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 100,
        }
    )
    for number, value in enumerate(values(0, 400)):
        producer.produce("kept", value, on_delivery=on_delivery)
        producer.poll(0)
        if number == 200:
            getattr(cluster, end)(leader)
    assert producer.flush(60) == 0

    assert acknowledged == values(0, 400)
    assert cluster.leader_of("kept") not in (None, leader)
    cluster.start_broker(leader)
    found = read(cluster.bootstrap_servers, "kept", 400)
    assert [message.value() for message in found] == values(0, 400)


def test_a_leader_moves_where_it_is_wanted(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("moving")
    written = 0
    for broker_id in (1, 2, 3, 1):
        cluster.move_leader("moving", 0, broker_id)

        assert cluster.leader_of("moving") == broker_id
        produce(cluster.bootstrap_servers, "moving", values(written, 50), acks="all")
        written += 50

    found = read(cluster.bootstrap_servers, "moving", written)
    assert [message.value() for message in found] == values(0, written)


def test_a_leader_moves_to_a_broker_that_had_no_replica(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("moving", replication_factor=1, config={"min.insync.replicas": "1"})
    produce(cluster.bootstrap_servers, "moving", values(0, 500), acks="all")
    leader = cluster.leader_of("moving")
    assert leader is not None
    other = leader % 3 + 1

    cluster.move_leader("moving", 0, other)

    assert cluster.leader_of("moving") == other
    partition = cluster.broker.view.partition("moving", 0)
    assert partition is not None
    assert partition.replicas == (other,)
    found = read(cluster.bootstrap_servers, "moving", 500)
    assert [message.value() for message in found] == values(0, 500)


@pytest.mark.parametrize("end", ["stop_broker", "kill_broker"])
def test_a_broker_that_comes_back_is_in_sync_without_a_write(end: str) -> None:
    """It is at the end of the log before the controller counts it as live."""
    # The check by the clock comes too late to help.
    never = {"replica.lag.time.max.ms": "3600000"}
    with EmbeddedCluster(brokers=3, config=never) as cluster:
        cluster.create_topic("idle", partitions=3)
        for broker_id in (2, 3):
            getattr(cluster, end)(broker_id)
            cluster.start_broker(broker_id)

        until(lambda: isrs_of(cluster) == [[1, 2, 3]] * 3, "all are in sync")


def isrs_of(cluster: EmbeddedCluster) -> list[list[int]]:
    topic = cluster.broker.view.topic("idle")
    return [] if topic is None else [sorted(one.isr) for one in topic.partitions.values()]
