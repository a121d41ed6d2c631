"""Three brokers in one process keep the same records, and go on when one of them is gone."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from barnabas import EmbeddedCluster

TOPIC = "replicated"
DEADLINE_S = 30


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    config = {"min.insync.replicas": "2", "replica.fetch.max.bytes": "2000"}
    with EmbeddedCluster(brokers=3, config=config) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for made in admin.create_topics([NewTopic(TOPIC, 3, 3)]).values():
            made.result(DEADLINE_S)
        yield cluster


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


def produce(cluster: EmbeddedCluster, count: int, first: int = 0) -> None:
    failures: list[str] = []
    settings = {"acks": "all", "batch.num.messages": 100}
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
    for number in range(first, first + count):
        producer.produce(
            TOPIC,
            str(number).encode(),
            partition=number % 3,
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
    assert producer.flush(DEADLINE_S) == 0
    assert failures == []


def consume(cluster: EmbeddedCluster, count: int) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(3)])
        found: list[int] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(found) < count and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.2):
                assert message.error() is None
                found.append(int(message.value() or b""))
        return sorted(found)
    finally:
        consumer.close()


def ends(cluster: EmbeddedCluster) -> list[list[tuple[int, int]]]:
    """(log end, high watermark) by partition and broker."""
    found = []
    for index in range(3):
        logs = [broker.storage.partitions.find(TOPIC, index) for broker in cluster.brokers]
        found.append([(it.log.log_end_offset, it.log.high_watermark) for it in logs if it])
    return found


def isrs(cluster: EmbeddedCluster) -> list[tuple[int, ...]]:
    topic = cluster.broker.view.topic(TOPIC)
    assert topic is not None
    return [topic.partitions[index].isr for index in range(3)]


def test_every_replica_gets_every_record_and_learns_what_is_committed(
    cluster: EmbeddedCluster,
) -> None:
    produce(cluster, 3000)

    until(lambda: ends(cluster) == [[(1000, 1000)] * 3] * 3)
    assert consume(cluster, 3000) == list(range(3000))


def test_a_broker_that_was_killed_catches_up_and_is_in_sync_again(
    cluster: EmbeddedCluster,
) -> None:
    produce(cluster, 300)
    cluster.kill_broker(2)
    produce(cluster, 3000, first=300)
    cluster.start_broker(2)

    until(lambda: ends(cluster) == [[(1100, 1100)] * 3] * 3)
    until(lambda: all(len(isr) == 3 for isr in isrs(cluster)))
    assert consume(cluster, 3300) == list(range(3300))


def alter(admin: AdminClient, kind: ResourceType, name: str, **values: str | None) -> None:
    entries = [
        ConfigEntry(
            key.replace("_", "."),
            value,
            incremental_operation=(
                AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
            ),
        )
        for key, value in values.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(DEADLINE_S)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_replica_stays_behind_until_it_is_let_go(
    cluster: EmbeddedCluster, side: str
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    rate, replicas = f"{side}_replication_throttled_rate", f"{side}_replication_throttled_replicas"
    alter(admin, ResourceType.TOPIC, TOPIC, **{replicas: "*"})
    for broker_id in ("1", "2", "3"):
        alter(admin, ResourceType.BROKER, broker_id, **{rate: "0"})
    cluster.kill_broker(2)
    produce(cluster, 3000)
    cluster.start_broker(2)

    time.sleep(0.5)
    # A follower that is throttled itself has had the chunk that was on its way.
    assert all(it[1][0] < 1000 for it in ends(cluster))
    assert all(2 not in isr for isr in isrs(cluster))

    for broker_id in ("1", "2", "3"):
        alter(admin, ResourceType.BROKER, broker_id, **{rate: None})
    until(lambda: ends(cluster) == [[(1000, 1000)] * 3] * 3)
    until(lambda: all(len(isr) == 3 for isr in isrs(cluster)))


def test_deleted_records_go_from_every_replica(cluster: EmbeddedCluster) -> None:
    produce(cluster, 300)
    until(lambda: ends(cluster) == [[(100, 100)] * 3] * 3)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for done in admin.delete_records([TopicPartition(TOPIC, 1, 40)]).values():
        assert done.result(DEADLINE_S).low_watermark == 40

    logs = [broker.storage.partitions.find(TOPIC, 1) for broker in cluster.brokers]
    assert [it.log.log_start_offset for it in logs if it] == [40] * 3
