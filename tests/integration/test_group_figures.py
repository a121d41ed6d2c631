"""Groups as Prometheus sees them: members, commits, rebalances and lag, with real clients."""

import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas import EmbeddedCluster
from tests.support.controller_process import controllers, until
from tests.support.coordinator_process import CoordinatorNode
from tests.support.kafka_node import free_ports
from tests.support.scrape import Address, Scrape, address_in, page

TOPIC = "orders"
COUNT = 30
READ = 12
DEADLINE_S = 90
FIGURES = "metrics.listener=127.0.0.1:0\n"


def produced(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(COUNT):
        producer.produce(TOPIC, str(number).encode(), partition=0)
    assert producer.flush(DEADLINE_S) == 0


def joined(bootstrap: str, protocol: str) -> Consumer:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"readers-{protocol}",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    give_up_at = time.monotonic() + DEADLINE_S
    while consumer.poll(0.1) is None:
        assert time.monotonic() < give_up_at, "nothing to read"
    return consumer


def test_what_groups_do_is_counted_and_their_lag_is_told() -> None:
    config = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
    with EmbeddedCluster(brokers=2, metrics_port=0, config=config) as cluster:
        address = cluster.metrics_address
        assert address is not None
        cluster.create_topic(TOPIC, partitions=1)
        produced(cluster.bootstrap_servers)
        consumers = [joined(cluster.bootstrap_servers, it) for it in ("classic", "consumer")]
        try:
            for consumer in consumers:
                consumer.commit(offsets=[TopicPartition(TOPIC, 0, READ)], asynchronous=False)
            seen = Scrape(address)

            assert seen.one("barnabas_group_offset_commits_total") == 2
            assert seen.one("barnabas_group_offsets") == 2
            assert seen.one("barnabas_shard_sessions", state="open") == 2
            assert seen.one("barnabas_shard_load_time_seconds_count") == 2
            for kind in ("classic", "consumer"):
                assert seen.one("barnabas_groups", type=kind, state="Stable") == 1
                assert seen.one("barnabas_group_members", group=f"readers-{kind}") == 1
                assert seen.one("barnabas_group_rebalances_total", type=kind) >= 1
            assert seen.one("barnabas_group_requests_total", api="OffsetCommit") == 2
            assert seen.one("barnabas_group_requests_total", api="ConsumerGroupHeartbeat") >= 1
            until(lambda: lags(address) == [COUNT - READ] * 2, "lag is told", DEADLINE_S)
            committed = Scrape(address).all("barnabas_group_committed_offset", topic=TOPIC)
            assert committed == [READ] * 2

            consumers[0].commit(offsets=[TopicPartition(TOPIC, 0, COUNT)], asynchronous=False)

            def has_caught_up() -> bool:
                return lags(address, "readers-classic") == [0]

            until(has_caught_up, "a group that has read everything has no lag", DEADLINE_S)
            seen = Scrape(address)
            name = "barnabas_group_lag_seconds"
            assert seen.one(name, group="readers-classic", topic=TOPIC, partition="0") == 0
            assert seen.one(name, group="readers-consumer", topic=TOPIC, partition="0") > 0
        finally:
            for consumer in consumers:
                consumer.close()


def lags(address: Address, group: str = "") -> list[float]:
    labels = {"group": group} if group else {}
    return Scrape(address).all("barnabas_group_lag_records", topic=TOPIC, partition="0", **labels)


def test_a_coordinator_as_a_process_is_seen_from_outside(tmp_path: Path) -> None:
    node = CoordinatorNode(tmp_path, 100, FIGURES)
    with controllers(tmp_path, 1) as quorum:
        node.configure(quorum.servers)
        node.start()
        try:
            address = metrics_of(node)
            until(lambda: page(address, "/readyz") == (200, "ok\n"), "it is ready")
            seen = Scrape(address)
            assert seen.one("barnabas_shard_sessions", node_id="100", state="open") == 0
            assert page(address, "/healthz").status == 200
            node.stop()
        finally:
            if node.is_running:
                node.kill()


def test_a_coordinator_without_metadata_is_not_ready(tmp_path: Path) -> None:
    (nobody,) = free_ports(1)
    node = CoordinatorNode(tmp_path, 100, FIGURES)
    node.configure(f"127.0.0.1:{nobody}")
    node.start()
    try:
        address = metrics_of(node)
        assert page(address, "/healthz").status == 200
        assert page(address, "/readyz").status == 503
    finally:
        node.kill()


def metrics_of(node: CoordinatorNode) -> Address:
    until(lambda: address_in(node.output()) is not None, "its figures are served")
    address = address_in(node.output())
    assert address is not None
    return address
