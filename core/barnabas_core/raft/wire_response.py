"""The quorum's answers as Kafka's messages, and back.

Kafka's answers name the leader's address without a listener: for us that is where its links are.
Answers about voters that name no leader say nothing of one. The directory id of a node that is
asked for its versions is no part of Kafka's ApiVersions: it travels in a tag of our own.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from barnabas_core.raft import message as m
from barnabas_core.raft.control_mapping import batches_in
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.internal_address import INTERNAL_LISTENER, internal_address
from barnabas_core.raft.raft_log import EpochEnd, SnapshotId
from barnabas_core.raft.wire_request import PARTITION, TOPIC, TOPIC_ID, check_place, only
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import api_versions_response as versions
from barnabas_core.wire.messages import begin_quorum_epoch_response as begin
from barnabas_core.wire.messages import end_quorum_epoch_response as end
from barnabas_core.wire.messages import fetch_response as fetch
from barnabas_core.wire.messages import fetch_snapshot_response as snapshot
from barnabas_core.wire.messages import update_raft_voter_response as update
from barnabas_core.wire.messages import vote_response as vote
from barnabas_core.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from barnabas_core.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from barnabas_core.wire.schema import Message, Part

NO_NEWS = m.LeaderNews(-1, None)
KRAFT_VERSION_FEATURE = "kraft.version"
_NOBODY = -1
_REPLICA_TAG = 20_000
"""Of ApiVersions: node id (4 bytes) and directory id (16 bytes) of whoever answers."""

N = TypeVar("N")


def response_to_wire(request: m.Request, response: m.Response, port_offset: int) -> Message:
    return _TO_WIRE[type(request)](response, port_offset)


def response_of_wire(request: m.Request, message: Message) -> m.Response:
    return _OF_WIRE[type(request)](request, message)


# --- the leader


def _leader_id(news: m.LeaderNews) -> int:
    return _NOBODY if news.leader_id is None else news.leader_id


def _node_endpoints(
    news: m.LeaderNews, port_offset: int, build: Callable[[int, str, int], N]
) -> list[N]:
    address = internal_address(news.endpoints, port_offset)
    if address is None or news.leader_id is None:
        return []
    return [build(news.leader_id, address.host, address.port)]


def _news(leader_id: int, epoch: int, endpoints: list[Any]) -> m.LeaderNews:
    found = tuple(
        Endpoint(INTERNAL_LISTENER, one.host, one.port)
        for one in endpoints
        if one.node_id == leader_id
    )
    return m.LeaderNews(epoch, None if leader_id == _NOBODY else NodeId(leader_id), found)


def _error(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


# --- Vote, BeginQuorumEpoch, EndQuorumEpoch


def _vote(response: m.VoteResponse, port_offset: int) -> vote.VoteResponse:
    news = response.news
    partition = vote.PartitionData(
        PARTITION, response.error, _leader_id(news), news.epoch, response.granted
    )
    return vote.VoteResponse(
        0,
        [vote.TopicData(TOPIC, [partition])],
        _node_endpoints(news, port_offset, vote.NodeEndpoint),
    )


def _of_vote(request: m.VoteRequest, message: vote.VoteResponse) -> m.VoteResponse:
    if message.error_code:
        return m.VoteResponse(request.correlation, _error(message.error_code), NO_NEWS)
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    news = _news(partition.leader_id, partition.leader_epoch, message.node_endpoints)
    error = _error(partition.error_code)
    return m.VoteResponse(request.correlation, error, news, partition.vote_granted)


def _begin(
    response: m.BeginQuorumEpochResponse, port_offset: int
) -> begin.BeginQuorumEpochResponse:
    news = response.news
    partition = begin.PartitionData(PARTITION, response.error, _leader_id(news), news.epoch)
    return begin.BeginQuorumEpochResponse(
        0,
        [begin.TopicData(TOPIC, [partition])],
        _node_endpoints(news, port_offset, begin.NodeEndpoint),
    )


def _of_begin(
    request: m.BeginQuorumEpochRequest, message: begin.BeginQuorumEpochResponse
) -> m.BeginQuorumEpochResponse:
    if message.error_code:
        return m.BeginQuorumEpochResponse(request.correlation, _error(message.error_code), NO_NEWS)
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    news = _news(partition.leader_id, partition.leader_epoch, message.node_endpoints)
    return m.BeginQuorumEpochResponse(request.correlation, _error(partition.error_code), news)


def _end(response: m.EndQuorumEpochResponse, port_offset: int) -> end.EndQuorumEpochResponse:
    news = response.news
    partition = end.PartitionData(PARTITION, response.error, _leader_id(news), news.epoch)
    return end.EndQuorumEpochResponse(
        0,
        [end.TopicData(TOPIC, [partition])],
        _node_endpoints(news, port_offset, end.NodeEndpoint),
    )


def _of_end(
    request: m.EndQuorumEpochRequest, message: end.EndQuorumEpochResponse
) -> m.EndQuorumEpochResponse:
    if message.error_code:
        return m.EndQuorumEpochResponse(request.correlation, _error(message.error_code), NO_NEWS)
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    news = _news(partition.leader_id, partition.leader_epoch, message.node_endpoints)
    return m.EndQuorumEpochResponse(request.correlation, _error(partition.error_code), news)


# --- Fetch, FetchSnapshot


def _fetch(response: m.FetchResponse, port_offset: int) -> fetch.FetchResponse:
    news = response.news
    partition = fetch.PartitionData(
        partition_index=PARTITION,
        error_code=response.error,
        high_watermark=response.high_watermark,
        current_leader=fetch.LeaderIdAndEpoch(_leader_id(news), news.epoch),
        records=b"".join([batch.payload for batch in response.batches]),
    )
    if response.diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(*response.diverging)
    if response.snapshot_id is not None:
        partition.snapshot_id = fetch.SnapshotId(*response.snapshot_id)
    return fetch.FetchResponse(
        responses=[fetch.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=_node_endpoints(news, port_offset, fetch.NodeEndpoint),
    )


def _of_fetch(request: m.FetchRequest, message: fetch.FetchResponse) -> m.FetchResponse:
    if message.error_code:
        return m.FetchResponse(request.correlation, _error(message.error_code), NO_NEWS)
    partition = only(only(message.responses).partitions)
    leader, diverging = partition.current_leader, partition.diverging_epoch
    wanted = partition.snapshot_id
    return m.FetchResponse(
        request.correlation,
        _error(partition.error_code),
        _news(leader.leader_id, leader.leader_epoch, message.node_endpoints),
        partition.high_watermark,
        batches_in(_bytes(partition.records)),
        EpochEnd(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        SnapshotId(wanted.end_offset, wanted.epoch) if wanted.epoch >= 0 else None,
    )


def _bytes(records: Part | None) -> bytes | bytearray | memoryview:
    if records is None:
        return b""
    assert isinstance(records, bytes | bytearray | memoryview), "a decoder gives views"
    return records


def _snapshot(
    response: m.FetchSnapshotResponse, port_offset: int
) -> snapshot.FetchSnapshotResponse:
    news = response.news
    partition = snapshot.PartitionSnapshot(
        PARTITION,
        response.error,
        snapshot.SnapshotId(*response.snapshot_id),
        snapshot.LeaderIdAndEpoch(_leader_id(news), news.epoch),
        response.size_bytes,
        response.position,
        response.data,
    )
    return snapshot.FetchSnapshotResponse(
        topics=[snapshot.TopicSnapshot(TOPIC, [partition])],
        node_endpoints=_node_endpoints(news, port_offset, snapshot.NodeEndpoint),
    )


def _of_snapshot(
    request: m.FetchSnapshotRequest, message: snapshot.FetchSnapshotResponse
) -> m.FetchSnapshotResponse:
    if message.error_code:
        error = _error(message.error_code)
        return m.FetchSnapshotResponse(request.correlation, error, NO_NEWS, request.snapshot_id)
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.name, partition.index)
    leader, held = partition.current_leader, partition.snapshot_id
    return m.FetchSnapshotResponse(
        request.correlation,
        _error(partition.error_code),
        _news(leader.leader_id, leader.leader_epoch, message.node_endpoints),
        SnapshotId(held.end_offset, held.epoch),
        partition.position,
        partition.size,
        bytes(_bytes(partition.unaligned_records)),
    )


# --- voters


def _add(response: m.VoterChangeResponse, _port_offset: int) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(0, response.error, response.reason or None)


def _remove(response: m.VoterChangeResponse, _port_offset: int) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(0, response.error, response.reason or None)


def _of_change(
    request: m.AddVoterRequest | m.RemoveVoterRequest,
    message: AddRaftVoterResponse | RemoveRaftVoterResponse,
) -> m.VoterChangeResponse:
    return m.VoterChangeResponse(
        request.correlation, _error(message.error_code), NO_NEWS, message.error_message or ""
    )


def _update(response: m.VoterChangeResponse, port_offset: int) -> update.UpdateRaftVoterResponse:
    news = response.news
    address = internal_address(news.endpoints, port_offset)
    host, port = ("", 0) if address is None else address
    leader = update.CurrentLeader(_leader_id(news), news.epoch, host, port)
    return update.UpdateRaftVoterResponse(0, response.error, leader)


def _of_update(
    request: m.UpdateVoterRequest, message: update.UpdateRaftVoterResponse
) -> m.VoterChangeResponse:
    leader = message.current_leader
    endpoints = (Endpoint(INTERNAL_LISTENER, leader.host, leader.port),) if leader.host else ()
    leader_id = None if leader.leader_id == _NOBODY else NodeId(leader.leader_id)
    news = m.LeaderNews(leader.leader_epoch, leader_id, endpoints)
    return m.VoterChangeResponse(request.correlation, _error(message.error_code), news)


def _versions(response: m.VersionsResponse, _port_offset: int) -> versions.ApiVersionsResponse:
    low, high = response.kraft_versions
    key = response.replica.node_id.to_bytes(4, signed=True) + response.replica.directory_id
    return versions.ApiVersionsResponse(
        supported_features=[versions.SupportedFeatureKey(KRAFT_VERSION_FEATURE, low, high)],
        unknown_tags=((_REPLICA_TAG, key),),
    )


def _of_versions(
    request: m.VersionsRequest, message: versions.ApiVersionsResponse
) -> m.VersionsResponse:
    supported = VersionRange(0, 0)
    for feature in message.supported_features:
        if feature.name == KRAFT_VERSION_FEATURE:
            supported = VersionRange(feature.min_version, feature.max_version)
    key = dict(message.unknown_tags).get(_REPLICA_TAG, b"")
    replica = ReplicaKey(NodeId(int.from_bytes(key[:4], signed=True)), bytes(key[4:]))
    return m.VersionsResponse(request.correlation, replica, supported)


_TO_WIRE: dict[type[Any], Callable[[Any, int], Message]] = {
    m.VoteRequest: _vote,
    m.BeginQuorumEpochRequest: _begin,
    m.EndQuorumEpochRequest: _end,
    m.FetchRequest: _fetch,
    m.FetchSnapshotRequest: _snapshot,
    m.AddVoterRequest: _add,
    m.RemoveVoterRequest: _remove,
    m.UpdateVoterRequest: _update,
    m.VersionsRequest: _versions,
}
_OF_WIRE: dict[type[Any], Callable[[Any, Any], m.Response]] = {
    m.VoteRequest: _of_vote,
    m.BeginQuorumEpochRequest: _of_begin,
    m.EndQuorumEpochRequest: _of_end,
    m.FetchRequest: _of_fetch,
    m.FetchSnapshotRequest: _of_snapshot,
    m.AddVoterRequest: _of_change,
    m.RemoveVoterRequest: _of_change,
    m.UpdateVoterRequest: _of_update,
    m.VersionsRequest: _of_versions,
}
