"""Metadata, from the typed request to the typed answer."""

import asyncio

import pytest
from barnabas_broker.handlers.metadata import MetadataHandler
from barnabas_broker.metadata_memory import BrokerNode, MemoryMetadata
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.schema import ZERO_UUID

from tests.support.broker_bench import context

FIRST_ID, SECOND_ID = b"1" * 16, b"2" * 16


class Cluster:
    """Two topics, and a way to create more."""

    def __init__(self, *, creates: bool = True) -> None:
        self.metadata = MemoryMetadata("cluster", BrokerNode(1, "host", 9092, "rack"))
        self.metadata.add_topic("first", FIRST_ID, 2)
        self.metadata.add_topic("__consumer_offsets", SECOND_ID, 1)
        self.created: list[str] = []
        self.handler = MetadataHandler(self.metadata, self._create if creates else None)

    async def _create(self, name: str) -> ErrorCode:
        self.created.append(name)
        if name == "refused":
            return ErrorCode.INVALID_REPLICATION_FACTOR
        self.metadata.add_topic(name, name.encode().ljust(16), 1)
        return ErrorCode.NONE

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


def test_a_partition_without_a_disk_has_no_leader() -> None:
    cluster = Cluster()
    cluster.metadata.take_offline("first", 1)

    healthy, lost = cluster.ask(named("first")).topics[0].partitions

    assert (healthy.error_code, healthy.leader_id) == (0, 1)
    assert (lost.error_code, lost.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert lost.offline_replicas == [1]


def test_names_that_look_the_same_in_metrics_collide() -> None:
    metadata = Cluster().metadata
    metadata.add_topic("a.b", b"3" * 16, 1)

    assert metadata.colliding("a_b") == "a.b"
    assert metadata.colliding("a-b") is None
