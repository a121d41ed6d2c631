"""Group coordinators as processes of their own: brokers lease their shards to whoever lives."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from barnabas_core.links.cluster_health import ClusterHealthClient
from barnabas_core.ports.link import Address, Purpose
from tests.support.cluster_process import ProcessCluster, cluster_of
from tests.support.controller_process import HOST
from tests.support.coordinator_process import (
    CoordinatorNode,
    Seen,
    as_operator,
    ask_quorum,
    live_coordinators,
)
from tests.support.librdkafka import produce
from tests.support.serve_process import ServedNode

if TYPE_CHECKING:
    from barnabas_core.links.proto.cluster_health_pb2 import PreRestartAnswer

TOPIC = "orders"
GROUPS = 6
DEADLINE_S = 90


SHARDS = 8
EXTRA = (
    f"coordinator.mode=remote\noffsets.topic.num.partitions={SHARDS}\n"
    "group.initial.rebalance.delay.ms=0\n"
)


class Remote:
    """A cluster of processes, and coordinators beside it."""

    def __init__(self, directory: Path, cluster: ProcessCluster) -> None:
        self.cluster = cluster
        self.coordinators = [CoordinatorNode(directory, number) for number in (101, 102)]
        for node in self.coordinators:
            node.configure(cluster.quorum.servers)

    def live(self) -> dict[int, Seen]:
        return live_coordinators(self.cluster.quorum.links)

    def is_all_known(self) -> bool:
        answer = ask_quorum(self.cluster.quorum.links)
        return answer is not None and not answer.may_miss_coordinators

    def permit_ms(self, node_id: int) -> int:
        def ask(client: ClusterHealthClient) -> "Awaitable[PreRestartAnswer]":
            return client.pre_restart_check(
                node_id, wants_permit=True, coordinator_role="group", peer_count=1
            )

        answer = as_operator(self.cluster.quorum.links, ask)
        return 0 if answer is None else answer.permit_ms

    def is_back(self, node: CoordinatorNode) -> bool:
        address = Address(HOST, node.port)
        answer = as_operator(
            self.cluster.quorum.links,
            lambda client: client.post_restart_check(address, Purpose.COORDINATOR_HEALTH),
        )
        return answer is not None and answer.is_done

    def wait_sessions(self, holds: Callable[[dict[int, int]], bool], what: str) -> None:
        """`holds` is asked with the sessions of each live coordinator that does not drain."""

        def is_so() -> bool:
            live = self.live()
            return holds({key: it.session_count for key, it in live.items() if not it.is_draining})

        until(is_so, what)

    def said(self, words: str) -> int:
        """How often brokers did."""
        return sum(broker.output().count(words) for broker in self.cluster.brokers.values())


@contextmanager
def remote(directory: Path, controllers: int, brokers: int) -> Iterator[Remote]:
    def set_up(cluster: ProcessCluster) -> None:
        for broker in cluster.brokers.values():
            broker.log_level = "debug"

    extra = f"{EXTRA}offsets.topic.replication.factor={brokers}\n"
    with cluster_of(
        directory, controllers=controllers, brokers=brokers, broker_extra=extra, set_up=set_up
    ) as cluster:
        made = Remote(directory, cluster)
        try:
            yield made
        except BaseException:
            for node in made.coordinators:
                print(f"===== {node.name}\n{node.output()}")
            raise
        finally:
            for node in made.coordinators:
                if node.is_running:
                    node.kill()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not in time"


class Groups:
    """Consumers, each a group of its own, that have read and committed all ten records."""

    def __init__(self, cluster: ProcessCluster) -> None:
        self.lost: list[str] = []
        self.assigned: list[str] = []
        cluster.create_topic(TOPIC, partitions=1, replicas=len(cluster.brokers))
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        for number in range(10):
            producer.produce(TOPIC, str(number).encode())
        assert producer.flush(DEADLINE_S) == 0
        self.consumers = [
            Consumer(
                {
                    "bootstrap.servers": cluster.bootstrap,
                    "group.id": f"group-{number}",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "session.timeout.ms": 45_000,
                }
            )
            for number in range(GROUPS)
        ]

    def join(self) -> None:
        for number, consumer in enumerate(self.consumers):
            name = f"group-{number}"
            consumer.subscribe(
                [TOPIC],
                on_assign=lambda *_, name=name: self.assigned.append(name),
                on_lost=lambda *_, name=name: self.lost.append(name),
            )
        read = [0] * GROUPS

        def have_all() -> bool:
            for number, consumer in enumerate(self.consumers):
                read[number] += len(consumer.consume(10, 0.1))
            return read == [10] * GROUPS

        until(have_all, "every group reads every record")
        for consumer in self.consumers:
            consumer.commit(asynchronous=False)

    def are_served(self) -> bool:
        try:
            for consumer in self.consumers:
                consumer.poll(0)
                at = consumer.committed([TopicPartition(TOPIC, 0)], 10)
                assert at[0].offset == 10
                consumer.commit(asynchronous=False, offsets=[TopicPartition(TOPIC, 0, 10)])
        except KafkaException:
            return False
        return True

    def close(self) -> None:
        for consumer in self.consumers:
            consumer.close()


@contextmanager
def groups_of(cluster: ProcessCluster) -> Iterator[Groups]:
    groups = Groups(cluster)
    try:
        groups.join()
        yield groups
    finally:
        groups.close()


def both_have_some(counts: dict[int, int]) -> bool:
    return (
        sorted(counts) == [101, 102] and min(counts.values()) > 0 and sum(counts.values()) == SHARDS
    )


def test_groups_outlive_a_coordinator_that_is_killed(tmp_path: Path) -> None:
    with remote(tmp_path, controllers=1, brokers=3) as made:
        for node in made.coordinators:
            node.start()
        until(lambda: len(made.live()) == 2, "both are registered")
        with groups_of(made.cluster) as groups:
            made.wait_sessions(both_have_some, "shards are shared")

            made.coordinators[0].kill()

            until(groups.are_served, "the other coordinator serves all groups")
            made.wait_sessions(lambda counts: counts == {102: SHARDS}, "all shards are there")
            assert groups.lost == []


def test_a_coordinator_comes_late_goes_in_order_and_comes_back(tmp_path: Path) -> None:
    with remote(tmp_path, controllers=1, brokers=2) as made:
        first, second = made.coordinators
        first.start()
        with groups_of(made.cluster) as groups:
            made.wait_sessions(lambda counts: counts == {101: SHARDS}, "all are with the first")
            begun = made.said("a session begins")

            second.start()
            until(lambda: 102 in made.live(), "the second is registered")
            made.wait_sessions(both_have_some, "the second gets its share")
            moved = made.said("a shard is taken elsewhere")
            assert made.said("a session begins") == begun + moved  # nothing else was touched
            assert groups.are_served()

            second.terminate()
            assert second.wait_ended() == 0
            assert "not all sessions were taken elsewhere" not in second.output()
            until(groups.are_served, "the first serves all groups")
            made.wait_sessions(lambda counts: counts == {101: SHARDS}, "all are back")

            second.start()
            made.wait_sessions(both_have_some, "the second takes its share back")
            assert groups.are_served()
            assert groups.lost == []
            assert sorted(groups.assigned) == [f"group-{number}" for number in range(GROUPS)]


def test_an_operator_restarts_them_one_by_one(tmp_path: Path) -> None:
    with remote(tmp_path, controllers=1, brokers=2) as made:
        first, second = made.coordinators
        for node in made.coordinators:
            node.start()
        until(lambda: len(made.live()) == 2, "both are registered")
        until(made.is_all_known, "the controller knows that there is nobody else")
        with groups_of(made.cluster) as groups:
            made.wait_sessions(both_have_some, "shards are shared")
            until(lambda: made.is_back(first) and made.is_back(second), "all shards are loaded")

            assert made.permit_ms(101) > 0
            assert made.permit_ms(102) == 0, "nobody would be left"
            first.stop()
            assert not made.is_back(first)
            assert made.permit_ms(102) == 0, "the first is away"
            first.start()

            until(lambda: made.is_back(first), "the first is registered and serves")
            assert made.permit_ms(102) > 0
            second.stop()
            until(groups.are_served, "the first serves all groups")
            assert groups.lost == []


def test_sessions_outlive_the_active_controller(tmp_path: Path) -> None:
    with remote(tmp_path, controllers=3, brokers=1) as made:
        for node in made.coordinators:
            node.start()
        until(lambda: len(made.live()) == 2, "both are registered")
        with groups_of(made.cluster) as groups:
            made.wait_sessions(both_have_some, "shards are shared")
            begun = made.said("a session begins")
            active = made.cluster.quorum.wait_active()

            made.cluster.quorum[active].kill()

            assert groups.are_served()
            made.cluster.quorum.wait_active(other_than=active)
            made.wait_sessions(both_have_some, "the next controller knows both")
            assert groups.are_served()
            assert made.said("a session begins") == begun
            assert groups.lost == []


def test_one_that_is_alone_does_not_wait_for_others(tmp_path: Path) -> None:
    with remote(tmp_path, controllers=1, brokers=1) as made:
        only = made.coordinators[0]
        only.start()
        with groups_of(made.cluster) as groups:
            made.wait_sessions(lambda counts: counts == {101: SHARDS}, "it has all shards")
            until(made.is_all_known, "the controller knows that there is nobody else")

            only.stop()

            assert "not all sessions were taken elsewhere" not in only.output()
            only.start()
            until(groups.are_served, "it serves again")
            assert groups.lost == []


SERVED = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{node.port},CONTROLLER://127.0.0.1:{node.controller_port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{node.controller_port}
log.dirs={node.data}
offsets.topic.replication.factor=1
coordinator.mode=remote
"""


def test_a_node_that_is_served_has_no_coordinator_where_it_is_told_of_others(
    tmp_path: Path,
) -> None:
    node, coordinator = ServedNode(tmp_path), CoordinatorNode(tmp_path, 101)
    node.configure(SERVED.format(node=node))
    node.format("--standalone")
    coordinator.configure(f"127.0.0.1:{node.controller_port}")
    settings = {"bootstrap.servers": node.server, "group.id": "far", "enable.auto.commit": False}
    consumer = Consumer(settings)
    try:
        node.restart()
        produce(node.server, TOPIC, [b"one"])
        with pytest.raises(KafkaException):  # nobody is there
            consumer.committed([TopicPartition(TOPIC, 0)], 2)

        coordinator.start()

        def is_committed() -> bool:
            try:
                consumer.commit(asynchronous=False, offsets=[TopicPartition(TOPIC, 0, 1)])
            except KafkaException:
                return False
            return consumer.committed([TopicPartition(TOPIC, 0)], 10)[0].offset == 1

        until(is_committed, "the coordinator serves the group")
    finally:
        consumer.close()
        print(node.output(), coordinator.output())
        for process in (node, coordinator):
            if process.is_running:
                process.kill()
