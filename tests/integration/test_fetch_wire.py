"""Fetch and Produce over the wire at the wrong broker, at a follower, and within a session."""

import time
from collections.abc import Iterator

import pytest

from barnabas import EmbeddedCluster
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from tests.support.librdkafka import produce
from tests.support.raw_client import RawClient

TOPIC = "replicated"
DEADLINE_S = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3) as running:
        running.create_topic(TOPIC)
        produce(running.bootstrap_servers, TOPIC, [b"a", b"b", b"c"], acks="all")
        yield running


def address(cluster: EmbeddedCluster, broker_id: int) -> tuple[str, int]:
    (service,) = [one for one in cluster.brokers if one.view.node_id == broker_id]
    listener = service.advertised[0]
    return listener.host, listener.port


def leader_and_other(cluster: EmbeddedCluster) -> tuple[int, int]:
    leader = cluster.leader_of(TOPIC)
    assert leader is not None
    return leader, next(one for one in (1, 2, 3) if one != leader)


def fetch_request(
    cluster: EmbeddedCluster,
    partitions: list[FetchPartition],
    *,
    session: tuple[int, int] = (0, -1),
    max_wait_ms: int = 0,
) -> FetchRequest:
    topic = cluster.broker.view.topic(TOPIC)
    assert topic is not None
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(TOPIC, topic.id, partitions)] if partitions else [],
    )


def the_one(response: FetchResponse) -> PartitionData:
    (data,) = response.responses[0].partitions
    return data


def test_a_follower_serves_a_consumer(cluster: EmbeddedCluster) -> None:
    _, follower = leader_and_other(cluster)
    wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    deadline = time.monotonic() + DEADLINE_S
    with RawClient(address(cluster, follower)) as client:
        while True:
            response = client.ask(fetch_request(cluster, [wanted]), 17, FetchResponse)
            data = the_one(response)
            if data.high_watermark >= 3:
                break
            assert time.monotonic() < deadline, "its high watermark does not come"
    assert data.error_code == 0
    assert len(data.records or b"") > 0


def test_a_consumer_with_an_old_epoch_is_told_the_leader_and_where_it_is(
    cluster: EmbeddedCluster,
) -> None:
    leader, _ = leader_and_other(cluster)
    cluster.move_leader(TOPIC, 0, leader % 3 + 1)
    leader, other = leader_and_other(cluster)
    wanted = FetchPartition(0, current_leader_epoch=0, partition_max_bytes=1 << 20)
    with RawClient(address(cluster, other)) as client:
        response = client.ask(fetch_request(cluster, [wanted]), 16, FetchResponse)

    data = the_one(response)
    assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert data.current_leader.leader_id == leader
    (node,) = response.node_endpoints
    assert (node.node_id, (node.host, node.port)) == (leader, address(cluster, leader))


def test_a_producer_at_the_wrong_broker_is_told_the_right_one(cluster: EmbeddedCluster) -> None:
    leader, other = leader_and_other(cluster)
    records = build_batch([(None, b"x")], timestamp_ms=int(time.time() * 1000))
    data = [PartitionProduceData(0, bytes(records))]
    request = ProduceRequest(None, -1, 10_000, [TopicProduceData(TOPIC, partition_data=data)])
    with RawClient(address(cluster, other)) as client:
        response = client.ask(request, 10, ProduceResponse)

    (answer,) = response.responses[0].partition_responses
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader.leader_id == leader
    (node,) = response.node_endpoints
    assert (node.node_id, (node.host, node.port)) == (leader, address(cluster, leader))


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_answers_with_what_is_new(cluster: EmbeddedCluster, version: int) -> None:
    leader, _ = leader_and_other(cluster)
    with RawClient(address(cluster, leader)) as client:

        def ask(
            partitions: list[FetchPartition], session_id: int, epoch: int, max_wait_ms: int = 0
        ) -> FetchResponse:
            session = (session_id, epoch)
            request = fetch_request(cluster, partitions, session=session, max_wait_ms=max_wait_ms)
            return client.ask(request, version, FetchResponse)

        first = ask([FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)], 0, 0)
        end = the_one(first).high_watermark
        at_end = FetchPartition(0, fetch_offset=end, partition_max_bytes=1 << 20)
        idle = ask([at_end], first.session_id, 1)
        produce(cluster.bootstrap_servers, TOPIC, [b"more"], acks="all")
        woken = ask([], first.session_id, 2, max_wait_ms=20_000)
        late = ask([], first.session_id, 2)
        ended = ask([], first.session_id, -1)
        gone = ask([], first.session_id, 3)

    assert first.session_id > 0
    assert (idle.error_code, idle.responses) == (0, [])
    assert the_one(woken).high_watermark == end + 1
    assert late.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert (ended.error_code, ended.session_id, ended.responses) == (0, 0, [])
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
