"""The quorum's requests as Kafka's messages, and back.

A request that Kafka's schema allows but the quorum has no use for (another topic, two partitions)
is a `BadRequest`. What the schema has no place for comes from the driver: the timeout of
UpdateRaftVoter and RemoveRaftVoter.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from barnabas_core.raft import message as m
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.wire.messages import add_raft_voter_request as add
from barnabas_core.wire.messages import begin_quorum_epoch_request as begin
from barnabas_core.wire.messages import end_quorum_epoch_request as end
from barnabas_core.wire.messages import fetch_request as fetch
from barnabas_core.wire.messages import fetch_snapshot_request as snapshot
from barnabas_core.wire.messages import remove_raft_voter_request as remove
from barnabas_core.wire.messages import update_raft_voter_request as update
from barnabas_core.wire.messages import vote_request as vote
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.schema import Message

TOPIC = "__cluster_metadata"
TOPIC_ID = bytes(15) + b"\x01"
PARTITION = 0
_SOFTWARE = ("barnabas", "controller")


class BadRequest(Exception):
    """A well-formed message that asks for something else than this quorum's log."""


class Arrival(NamedTuple):
    """What goes into a request besides its message."""

    correlation: int
    timeout_ms: int


class _NamedEndpoint(Protocol):
    name: str
    host: str
    port: int


P = TypeVar("P")
E = TypeVar("E")


def request_to_wire(request: m.Request, cluster_id: str) -> Message:
    build = _TO_WIRE.get(type(request))
    if build is None:
        raise TypeError(f"{type(request).__name__} never leaves its node")
    return build(request, cluster_id)


def request_of_wire(message: Message, arrival: Arrival) -> m.Request:
    return _OF_WIRE[type(message)](message, arrival)


def only(parts: Sequence[P]) -> P:
    """Of lists by topic or partition, for there is but one of either."""
    if len(parts) != 1:
        raise BadRequest(f"{len(parts)} topics or partitions where there is one")
    return parts[0]


def check_place(topic: str, partition: int) -> None:
    if topic != TOPIC or partition != PARTITION:
        raise BadRequest(f"partition {partition} of topic {topic!r}")


def endpoints_to_wire(
    endpoints: tuple[Endpoint, ...], build: Callable[[str, str, int], E]
) -> list[E]:
    return [build(*endpoint) for endpoint in endpoints]


def endpoints_of_wire(endpoints: Sequence[_NamedEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, one.port) for one in endpoints)


# --- to the wire


def _vote(request: m.VoteRequest, cluster_id: str) -> vote.VoteRequest:
    partition = vote.PartitionData(
        PARTITION,
        request.epoch,
        request.candidate.node_id,
        request.candidate.directory_id,
        request.voter.directory_id,
        request.last_epoch,
        request.end_offset,
        request.pre_vote,
    )
    topic = vote.TopicData(TOPIC, [partition])
    return vote.VoteRequest(cluster_id, request.voter.node_id, [topic])


def _begin(request: m.BeginQuorumEpochRequest, cluster_id: str) -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(
        PARTITION, request.voter.directory_id, request.leader_id, request.epoch
    )
    return begin.BeginQuorumEpochRequest(
        cluster_id,
        request.voter.node_id,
        [begin.TopicData(TOPIC, [partition])],
        endpoints_to_wire(request.endpoints, begin.LeaderEndpoint),
    )


def _end(request: m.EndQuorumEpochRequest, cluster_id: str) -> end.EndQuorumEpochRequest:
    partition = end.PartitionData(
        PARTITION,
        request.leader_id,
        request.epoch,
        [],
        [end.ReplicaInfo(*key) for key in request.successors],
    )
    return end.EndQuorumEpochRequest(
        cluster_id,
        [end.TopicData(TOPIC, [partition])],
        endpoints_to_wire(request.endpoints, end.LeaderEndpoint),
    )


def _fetch(request: m.FetchRequest, cluster_id: str) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=request.epoch,
        fetch_offset=request.fetch_offset,
        last_fetched_epoch=request.last_fetched_epoch,
        partition_max_bytes=request.max_bytes,
        replica_directory_id=request.replica.directory_id,
        high_watermark=request.high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(request.replica.node_id),
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=[fetch.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )


def _snapshot(request: m.FetchSnapshotRequest, cluster_id: str) -> snapshot.FetchSnapshotRequest:
    partition = snapshot.PartitionSnapshot(
        PARTITION,
        request.epoch,
        snapshot.SnapshotId(*request.snapshot_id),
        request.position,
        request.replica.directory_id,
    )
    topic = snapshot.TopicSnapshot(TOPIC, [partition])
    node_id = request.replica.node_id
    return snapshot.FetchSnapshotRequest(cluster_id, node_id, request.max_bytes, [topic])


def _add(request: m.AddVoterRequest, cluster_id: str) -> add.AddRaftVoterRequest:
    return add.AddRaftVoterRequest(
        cluster_id,
        request.timeout_ms,
        request.voter.node_id,
        request.voter.directory_id,
        endpoints_to_wire(request.endpoints, add.Listener),
        request.ack_when_committed,
    )


def _remove(request: m.RemoveVoterRequest, cluster_id: str) -> remove.RemoveRaftVoterRequest:
    voter = request.voter
    return remove.RemoveRaftVoterRequest(cluster_id, voter.node_id, voter.directory_id)


def _update(request: m.UpdateVoterRequest, cluster_id: str) -> update.UpdateRaftVoterRequest:
    return update.UpdateRaftVoterRequest(
        cluster_id,
        request.epoch,
        request.voter.node_id,
        request.voter.directory_id,
        endpoints_to_wire(request.endpoints, update.Listener),
        update.KRaftVersionFeature(*request.kraft_versions),
    )


def _versions(_request: m.VersionsRequest, cluster_id: str) -> ApiVersionsRequest:
    return ApiVersionsRequest(*_SOFTWARE, cluster_id)


_TO_WIRE: dict[type[Any], Callable[[Any, str], Message]] = {
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


# --- from the wire


def _of_vote(message: vote.VoteRequest, arrival: Arrival) -> m.VoteRequest:
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    return m.VoteRequest(
        arrival.correlation,
        partition.replica_epoch,
        ReplicaKey(NodeId(partition.replica_id), partition.replica_directory_id),
        ReplicaKey(NodeId(message.voter_id), partition.voter_directory_id),
        partition.last_offset_epoch,
        partition.last_offset,
        partition.pre_vote,
    )


def _of_begin(
    message: begin.BeginQuorumEpochRequest, arrival: Arrival
) -> m.BeginQuorumEpochRequest:
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    return m.BeginQuorumEpochRequest(
        arrival.correlation,
        partition.leader_epoch,
        NodeId(partition.leader_id),
        endpoints_of_wire(message.leader_endpoints),
        ReplicaKey(NodeId(message.voter_id), partition.voter_directory_id),
    )


def _of_end(message: end.EndQuorumEpochRequest, arrival: Arrival) -> m.EndQuorumEpochRequest:
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.topic_name, partition.partition_index)
    return m.EndQuorumEpochRequest(
        arrival.correlation,
        partition.leader_epoch,
        NodeId(partition.leader_id),
        endpoints_of_wire(message.leader_endpoints),
        tuple(
            ReplicaKey(NodeId(one.candidate_id), one.candidate_directory_id)
            for one in partition.preferred_candidates
        ),
    )


def _of_fetch(message: fetch.FetchRequest, arrival: Arrival) -> m.FetchRequest:
    topic = only(message.topics)
    partition = only(topic.partitions)
    if topic.topic_id != TOPIC_ID or partition.partition != PARTITION:
        raise BadRequest(f"partition {partition.partition} of topic id {topic.topic_id.hex()}")
    return m.FetchRequest(
        arrival.correlation,
        partition.current_leader_epoch,
        ReplicaKey(NodeId(message.replica_state.replica_id), partition.replica_directory_id),
        partition.fetch_offset,
        partition.last_fetched_epoch,
        partition.high_watermark,
        message.max_wait_ms,
        min(message.max_bytes, partition.partition_max_bytes),
    )


def _of_snapshot(
    message: snapshot.FetchSnapshotRequest, arrival: Arrival
) -> m.FetchSnapshotRequest:
    topic = only(message.topics)
    partition = only(topic.partitions)
    check_place(topic.name, partition.partition)
    wanted = partition.snapshot_id
    return m.FetchSnapshotRequest(
        arrival.correlation,
        partition.current_leader_epoch,
        ReplicaKey(NodeId(message.replica_id), partition.replica_directory_id),
        SnapshotId(wanted.end_offset, wanted.epoch),
        partition.position,
        message.max_bytes,
    )


def _of_add(message: add.AddRaftVoterRequest, arrival: Arrival) -> m.AddVoterRequest:
    return m.AddVoterRequest(
        arrival.correlation,
        ReplicaKey(NodeId(message.voter_id), message.voter_directory_id),
        endpoints_of_wire(message.listeners),
        message.timeout_ms,
        message.ack_when_committed,
    )


def _of_remove(message: remove.RemoveRaftVoterRequest, arrival: Arrival) -> m.RemoveVoterRequest:
    voter = ReplicaKey(NodeId(message.voter_id), message.voter_directory_id)
    return m.RemoveVoterRequest(arrival.correlation, voter, arrival.timeout_ms)


def _of_update(message: update.UpdateRaftVoterRequest, arrival: Arrival) -> m.UpdateVoterRequest:
    feature = message.kraft_version_feature
    return m.UpdateVoterRequest(
        arrival.correlation,
        message.current_leader_epoch,
        ReplicaKey(NodeId(message.voter_id), message.voter_directory_id),
        endpoints_of_wire(message.listeners),
        VersionRange(feature.min_supported_version, feature.max_supported_version),
        arrival.timeout_ms,
    )


def _of_versions(_message: ApiVersionsRequest, arrival: Arrival) -> m.VersionsRequest:
    return m.VersionsRequest(arrival.correlation)


_OF_WIRE: dict[type[Any], Callable[[Any, Arrival], m.Request]] = {
    vote.VoteRequest: _of_vote,
    begin.BeginQuorumEpochRequest: _of_begin,
    end.EndQuorumEpochRequest: _of_end,
    fetch.FetchRequest: _of_fetch,
    snapshot.FetchSnapshotRequest: _of_snapshot,
    add.AddRaftVoterRequest: _of_add,
    remove.RemoveRaftVoterRequest: _of_remove,
    update.UpdateRaftVoterRequest: _of_update,
    ApiVersionsRequest: _of_versions,
}
