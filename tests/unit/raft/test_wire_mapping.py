"""The quorum's messages and Kafka's: nothing is lost on the way there and back."""

from dataclasses import replace

import pytest
from hypothesis import given

from barnabas_core.raft import message as m
from barnabas_core.raft.control_mapping import batches_in, control_batch
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey
from barnabas_core.raft.record import KRaftVersionChange
from barnabas_core.raft.wire_mapping import VERSIONS, BadMessage, Refusal, WireMapping
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.vote_request import VoteRequest
from barnabas_core.wire.messages.vote_response import VoteResponse
from tests.support.raft_messages import exchanges, requests

MAPPING = WireMapping(cluster_id="MkU3OEVBNTcwNTJENDM2Qk")
ONE = ReplicaKey(NodeId(1), b"1" * 16)
TWO = ReplicaKey(NodeId(2), b"2" * 16)
VOTE = m.VoteRequest(7, 3, ONE, TWO, 2, 40, pre_vote=True)
FETCH = m.FetchRequest(8, 3, ONE, 40, 2, 39, 500, 1 << 20)


@given(requests)
def test_a_request_arrives_as_it_was_sent(request: m.Request) -> None:
    key, version, body = MAPPING.encode_request(request)

    assert MAPPING.decode_request(key, version, body, request.correlation) == request


@given(exchanges())
def test_an_answer_arrives_as_it_was_sent(exchange: tuple[m.Request, m.Response]) -> None:
    request, response = exchange

    body = MAPPING.encode_response(request, response)

    assert MAPPING.decode_response(request, body) == response


def test_every_request_goes_out_at_the_newest_version_of_the_table() -> None:
    newest = {key: API_BY_KEY[key].max_version for key in VERSIONS}

    assert newest == VERSIONS


def test_a_vote_is_about_the_metadata_partition() -> None:
    _, version, body = MAPPING.encode_request(VOTE)

    message = decode(VoteRequest, version, body)

    assert message.cluster_id == MAPPING.cluster_id
    assert (message.voter_id, message.topics[0].topic_name) == (2, "__cluster_metadata")
    partition = message.topics[0].partitions[0]
    assert (partition.partition_index, partition.replica_id) == (0, 1)
    assert partition.voter_directory_id == TWO.directory_id


def test_a_fetch_names_the_metadata_topic_by_its_id() -> None:
    _, version, body = MAPPING.encode_request(FETCH)

    message = decode(FetchRequest, version, body)

    assert message.topics[0].topic_id == bytes(15) + b"\x01"
    assert message.replica_state.replica_id == 1


def test_another_cluster_is_refused_and_never_heard() -> None:
    stranger = replace(MAPPING, cluster_id="another-cluster-entirely")
    key, version, body = stranger.encode_request(VOTE)

    with pytest.raises(Refusal) as refused:
        MAPPING.decode_request(key, version, body, 1)

    assert refused.value.error is ErrorCode.INCONSISTENT_CLUSTER_ID
    answer = stranger.decode_response(VOTE, refused.value.body)
    assert isinstance(answer, m.VoteResponse)
    assert answer.error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert answer.news == m.LeaderNews(-1, None)


def test_a_request_for_another_topic_is_refused() -> None:
    key, version, body = MAPPING.encode_request(VOTE)
    message = decode(VoteRequest, version, body)
    message.topics[0].topic_name = "payments"

    with pytest.raises(Refusal) as refused:
        MAPPING.decode_request(key, version, encode(message, version), 1)

    assert refused.value.error is ErrorCode.INVALID_REQUEST
    assert decode(VoteResponse, version, refused.value.body).error_code == 42


@pytest.mark.parametrize(("key", "version"), [(ApiKey.FETCH, 17), (ApiKey.PRODUCE, 12), (999, 0)])
def test_what_the_quorum_does_not_speak_has_no_answer(key: int, version: int) -> None:
    with pytest.raises(BadMessage):
        MAPPING.decode_request(key, version, b"", 1)


def test_bytes_that_are_no_message_have_no_answer() -> None:
    with pytest.raises(BadMessage):
        MAPPING.decode_request(ApiKey.VOTE, VERSIONS[ApiKey.VOTE], b"\x00\xff\xff", 1)


def test_damaged_records_spoil_the_whole_answer() -> None:
    data = control_batch([KRaftVersionChange(1)], base_offset=40, epoch=2, timestamp_ms=1)
    batches = batches_in(data)
    response = m.FetchResponse(8, ErrorCode.NONE, m.LeaderNews(3, None), 40, batches)
    data[-1] ^= 1

    with pytest.raises(BadMessage, match="FETCH"):
        MAPPING.decode_response(FETCH, MAPPING.encode_response(FETCH, response))


def test_a_leader_without_an_internal_endpoint_is_reached_above_its_first_port() -> None:
    news = m.LeaderNews(3, NodeId(2), (Endpoint("CONTROLLER", "two", 9093),))

    body = MAPPING.encode_response(VOTE, m.VoteResponse(7, ErrorCode.NONE, news))

    answer = MAPPING.decode_response(VOTE, body)
    assert isinstance(answer, m.VoteResponse)
    assert answer.news.endpoints == (Endpoint("INTERNAL", "two", 10093),)
