"""Consumer groups with real clients: they join, share partitions, commit, leave, and come back."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas import EmbeddedCluster
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tests.support.raw_client import RawClient

TOPIC = "orders"
PARTITIONS = 6
DEADLINE_S = 60
CONFIG = {"group.initial.rebalance.delay.ms": "100", "offsets.topic.num.partitions": "5"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3, config=CONFIG) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(600):
            producer.produce(TOPIC, str(number).encode(), partition=number % PARTITIONS)
        assert producer.flush(DEADLINE_S) == 0
        yield cluster


@pytest.fixture(params=["classic", "consumer"])
def join(
    cluster: EmbeddedCluster, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Consumer]]:
    """Makes consumers, which are closed in the end."""
    consumers = []

    def make(group: str) -> Consumer:
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": f"{group}-{request.param}",
            "group.protocol": request.param,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        consumers.append(Consumer(settings))
        consumers[-1].subscribe([TOPIC])
        return consumers[-1]

    yield make
    for consumer in consumers:
        consumer.close()


def read(consumers: list[Consumer], count: int) -> list[int]:
    found: list[int] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records"
        for consumer in consumers:
            for message in consumer.consume(1000, 0.1):
                assert message.error() is None, message.error()
                found.append(int(message.value() or b""))
    return sorted(found)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "not in time"


def test_a_group_of_one_reads_everything(join: Callable[[str], Consumer]) -> None:
    assert read([join("alone")], 600) == list(range(600))


def test_two_members_share_the_partitions(join: Callable[[str], Consumer]) -> None:
    members = [join("shared"), join("shared")]

    def have_all() -> bool:
        for member in members:
            member.poll(0.1)
        owned = [len(member.assignment()) for member in members]
        return owned == [PARTITIONS // 2] * 2

    until(have_all)
    owned = [{it.partition for it in member.assignment()} for member in members]
    assert owned[0] | owned[1] == set(range(PARTITIONS))


def test_what_was_committed_is_not_read_again(
    cluster: EmbeddedCluster, join: Callable[[str], Consumer]
) -> None:
    first = join("committed")
    read([first], 600)
    first.commit(asynchronous=False)
    first.close()

    second = join("committed")
    until(lambda: second.poll(0.1) is None and len(second.assignment()) == PARTITIONS)
    at = second.committed([TopicPartition(TOPIC, index) for index in range(PARTITIONS)], 30)
    assert [it.offset for it in at] == [100] * PARTITIONS
    assert second.poll(0.5) is None


def test_members_stay_when_the_broker_that_leads_their_shard_is_killed(
    cluster: EmbeddedCluster, join: Callable[[str], Consumer]
) -> None:
    member = join("orphaned")
    read([member], 600)
    member.commit(asynchronous=False)
    group = "orphaned-classic"
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    with RawClient((host, int(port))) as client:
        request = FindCoordinatorRequest(coordinator_keys=[group])
        found = client.ask(request, 4, FindCoordinatorResponse).coordinators[0]
    cluster.kill_broker(found.node_id)
    try:
        at: list[TopicPartition] = []

        def is_known() -> bool:
            member.poll(0.1)
            try:
                at[:] = member.committed([TopicPartition(TOPIC, 0)], 10)
            except Exception:
                return False
            return True

        until(is_known)
        assert at[0].offset == 100
    finally:
        cluster.start_broker(found.node_id)


def test_administrators_list_describe_and_delete(
    cluster: EmbeddedCluster, join: Callable[[str], Consumer]
) -> None:
    member = join("known")
    read([member], 600)
    member.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    listed = admin.list_consumer_groups().result(DEADLINE_S).valid
    mine = [it.group_id for it in listed if it.group_id.startswith("known-")]
    described = admin.describe_consumer_groups(mine)[mine[0]].result(DEADLINE_S)
    assert described.state.name == "STABLE"
    assert len(described.members) == 1
    member.close()

    wanted = ConsumerGroupTopicPartitions(mine[0])
    offsets = admin.list_consumer_group_offsets([wanted])[mine[0]].result(DEADLINE_S)
    assert sorted(it.offset for it in offsets.topic_partitions) == [100] * PARTITIONS
    for done in admin.delete_consumer_groups(mine).values():
        done.result(DEADLINE_S)
    listed = admin.list_consumer_groups().result(DEADLINE_S).valid
    assert not [it for it in listed if it.group_id in mine]
