"""Metadata, from the typed request to the typed answer."""

import asyncio

import pytest

from barnabas_broker.handlers.metadata import MetadataHandler
from barnabas_core.server.dispatch import Peer, RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.schema import ZERO_UUID
from tests.support.broker_bench import context
from tests.support.cluster_image import broker, cluster_view, replayed, topic

FIRST_ID, SECOND_ID = b"1" * 16, b"2" * 16


class Cluster:
    """Two topics, and a way to create more."""

    def __init__(self, *, creates: bool = True) -> None:
        self.view = cluster_view(
            [
                broker(rack="rack"),
                *topic("first", FIRST_ID, [(1,), (1,)]),
                *topic("__consumer_offsets", SECOND_ID),
            ]
        )
        self.created: list[str] = []
        self.handler = MetadataHandler(self.view, self._create if creates else None)

    async def _create(self, names: list[str]) -> dict[str, ErrorCode]:
        self.created += names
        errors = dict.fromkeys(names, ErrorCode.NONE)
        for name in names:
            if name == "refused":
                errors[name] = ErrorCode.INVALID_REPLICATION_FACTOR
            else:
                records = topic(name, name.encode().ljust(16))
                self.view.image = replayed(records, self.view.image)[1]
        return errors

    def ask(self, request: MetadataRequest, version: int = 12) -> MetadataResponse:
        async def scenario() -> MetadataResponse:
            reply = self.handler.handle(request, context(version))
            return reply if isinstance(reply, MetadataResponse) else await reply

        return asyncio.run(scenario())


def named(*names: str) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(ZERO_UUID, name) for name in names])


@pytest.mark.parametrize("version", range(14))
def test_the_cluster_and_all_topics_are_described(version: int) -> None:
    everything = MetadataRequest([] if version == 0 else None)

    response = Cluster().ask(everything, version)

    (node,) = response.brokers
    assert (node.node_id, node.host, node.port, node.rack) == (1, "host", 9092, "rack")
    assert (response.cluster_id, response.controller_id) == ("cluster", 1)
    described = [(it.name, it.topic_id, it.is_internal) for it in response.topics]
    assert described == [("first", FIRST_ID, False), ("__consumer_offsets", SECOND_ID, True)]
    partitions = response.topics[0].partitions
    assert [it.partition_index for it in partitions] == [0, 1]
    assert {(it.leader_id, it.leader_epoch, it.error_code) for it in partitions} == {(1, 0, 0)}
    assert (partitions[0].replica_nodes, partitions[0].isr_nodes) == ([1], [1])


@pytest.mark.parametrize("version", range(1, 14))
def test_an_empty_list_asks_for_the_cluster_alone(version: int) -> None:
    response = Cluster().ask(MetadataRequest([]), version)

    assert len(response.brokers) == 1
    assert response.topics == []


def test_an_unknown_topic_is_created_and_described_at_once() -> None:
    cluster = Cluster()

    response = cluster.ask(named("new", "first", "refused"))

    assert cluster.created == ["new", "refused"]
    assert [(it.name, ErrorCode(it.error_code)) for it in response.topics] == [
        ("new", ErrorCode.NONE),
        ("first", ErrorCode.NONE),
        ("refused", ErrorCode.INVALID_REPLICATION_FACTOR),
    ]
    assert len(response.topics[0].partitions) == 1


def test_a_topic_is_not_created_where_client_or_broker_forbid_it() -> None:
    forbidding = named("new")
    forbidding.allow_auto_topic_creation = False

    by_client = Cluster().ask(forbidding)
    by_broker = Cluster(creates=False).ask(named("new"))

    for response in (by_client, by_broker):
        assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert response.topics[0].name == "new"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "x" * 250, "a\0"])
def test_a_bad_name_is_an_invalid_topic(name: str) -> None:
    cluster = Cluster()

    response = cluster.ask(named(name))

    assert response.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert cluster.created == []


@pytest.mark.parametrize(
    ("topic_id", "name", "version", "error"),
    [
        (FIRST_ID, None, 12, ErrorCode.NONE),
        (b"9" * 16, None, 12, ErrorCode.UNKNOWN_TOPIC_ID),
        (ZERO_UUID, None, 12, ErrorCode.INVALID_REQUEST),
        (FIRST_ID, None, 11, ErrorCode.INVALID_REQUEST),
        (ZERO_UUID, None, 10, ErrorCode.INVALID_REQUEST),
    ],
)
def test_topics_are_found_by_id(
    topic_id: bytes, name: str | None, version: int, error: ErrorCode
) -> None:
    request = MetadataRequest([MetadataRequestTopic(topic_id, name)])

    (topic,) = Cluster().ask(request, version).topics

    assert topic.error_code == error
    if error is ErrorCode.NONE:
        assert topic.name == "first"
    else:
        assert topic.name is None if version >= 12 else topic.name == ""


def test_operations_are_told_to_those_who_ask() -> None:
    asking = MetadataRequest(
        [MetadataRequestTopic(ZERO_UUID, "first")],
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )

    told = Cluster().ask(asking, 8)
    untold = Cluster().ask(named("first"), 8)

    assert told.topics[0].topic_authorized_operations == 3576
    assert told.cluster_authorized_operations == 8096
    assert untold.topics[0].topic_authorized_operations == -(2**31)
    assert untold.cluster_authorized_operations == -(2**31)


def test_a_partition_without_a_leader_says_so_and_names_its_lost_replicas() -> None:
    cluster = Cluster()
    change = PartitionChangeRecord(partition_id=1, topic_id=FIRST_ID, leader=-1)
    fence = FenceBrokerRecord(id=1, epoch=1)
    cluster.view.image = replayed([change, fence], cluster.view.image)[1]

    response = cluster.ask(named("first"))

    first, second = response.topics[0].partitions
    assert (first.error_code, first.leader_id) == (0, 1)
    assert (second.error_code, second.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert (second.leader_epoch, second.offline_replicas) == (1, [1])
    assert response.brokers == [], "a fenced broker is none that clients could use"


def test_brokers_are_named_by_the_listener_that_the_client_came_by() -> None:
    elsewhere = RequestContext(12, 1, "test", Peer("192.0.2.1", 4711, "OTHER"))

    response = Cluster().handler.handle(MetadataRequest([]), elsewhere)

    assert isinstance(response, MetadataResponse)
    assert response.brokers == []


@pytest.mark.parametrize("version", range(14))
def test_a_leader_without_the_clients_listener_is_none(version: int) -> None:
    elsewhere = RequestContext(version, 1, "test", Peer("192.0.2.1", 4711, "OTHER"))

    response = Cluster().handler.handle(named("first"), elsewhere)

    assert isinstance(response, MetadataResponse)
    partition = response.topics[0].partitions[0]
    error = ErrorCode.LISTENER_NOT_FOUND if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
    assert (partition.error_code, partition.leader_id) == (error, -1)


def test_the_oldest_clients_see_only_replicas_that_they_can_reach() -> None:
    cluster = Cluster()
    records = topic("wide", b"w" * 16, [(1, 2)])
    cluster.view.image = replayed(records, cluster.view.image)[1]

    (oldest,) = cluster.ask(named("wide"), 0).topics[0].partitions
    (newer,) = cluster.ask(named("wide"), 1).topics[0].partitions

    assert (oldest.error_code, oldest.leader_id) == (ErrorCode.REPLICA_NOT_AVAILABLE, 1)
    assert (oldest.replica_nodes, oldest.isr_nodes) == ([1], [1])
    assert (newer.error_code, newer.replica_nodes) == (ErrorCode.NONE, [1, 2])


def test_a_topic_that_is_asked_for_twice_is_answered_once() -> None:
    assert len(Cluster().ask(named("first", "first")).topics) == 1
