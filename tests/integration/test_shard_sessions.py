"""Sessions between a broker's shards and their coordinator, where something goes wrong."""

import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from barnabas import EmbeddedCluster
from barnabas_coordinator.group.group_shard import GroupShard

TOPIC = "orders"
DEADLINE_S = 60


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(config={"offsets.topic.num.partitions": "1"}) as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(10):
            producer.produce(TOPIC, str(number).encode())
        assert producer.flush(DEADLINE_S) == 0
        yield cluster


def committed(consumer: Consumer) -> int:
    """Asked again until there is a coordinator that answers."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return int(consumer.committed([TopicPartition(TOPIC, 0)], 5)[0].offset)
        except KafkaException:
            assert time.monotonic() < deadline, "no answer in time"


def test_a_defect_in_a_decision_costs_a_reload_and_nothing_else(cluster: EmbeddedCluster) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "careful"}
    consumer = Consumer(settings)
    try:
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 7)], asynchronous=False)
        decide = GroupShard.decide
        left = [2]

        def broken(self: GroupShard, *arguments: Any) -> Any:  # noqa: ANN401 - as it is called
            if left[0]:
                left[0] -= 1
                raise ZeroDivisionError("a defect")
            return decide(self, *arguments)

        with patch.object(GroupShard, "decide", broken):
            assert committed(consumer) == 7

        assert left == [0]
    finally:
        consumer.close()
