"""Messages, voters and controls of a quorum, drawn by hypothesis."""

from hypothesis import strategies as st

from barnabas_core.raft import message as m
from barnabas_core.raft.control_mapping import batches_in, control_batch
from barnabas_core.raft.identity import NO_DIRECTORY, Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.raft_log import EpochEnd, SnapshotId
from barnabas_core.raft.record import Batch, Control, KRaftVersionChange, LeaderChange, VotersChange
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode

ids = st.integers(0, 2**31 - 1).map(NodeId)
offsets = st.integers(0, 2**62)
epochs = st.integers(0, 2**31 - 1)
lengths = st.integers(0, 2**31 - 1)
names = st.text("abcdefghij.-", min_size=1, max_size=12)
directories = st.binary(min_size=16, max_size=16)
keys = st.builds(ReplicaKey, ids, directories)
endpoints = st.builds(Endpoint, names, names, st.integers(0, 60_000))
endpoint_tuples = st.lists(endpoints, max_size=3).map(tuple)
ranges = st.builds(VersionRange, st.integers(0, 3), st.integers(0, 3))
errors = st.sampled_from(list(ErrorCode))
snapshot_ids = st.builds(SnapshotId, offsets, epochs)
voters = st.builds(Voter, keys, st.lists(endpoints, min_size=1, max_size=3).map(tuple), ranges)
voter_sets = st.lists(voters, max_size=4, unique_by=lambda one: one.node_id).map(VoterSet.of)
plain_keys = st.builds(ReplicaKey, ids, st.just(NO_DIRECTORY))
controls: st.SearchStrategy[Control] = st.one_of(
    st.builds(
        LeaderChange,
        ids,
        st.lists(plain_keys, max_size=3).map(tuple),
        st.lists(plain_keys, max_size=3).map(tuple),
    ),
    st.builds(KRaftVersionChange, st.integers(0, 3)),
    st.builds(VotersChange, voter_sets),
)

requests: st.SearchStrategy[m.Request] = st.one_of(
    st.builds(m.VoteRequest, lengths, epochs, keys, keys, epochs, offsets, st.booleans()),
    st.builds(m.BeginQuorumEpochRequest, lengths, epochs, ids, endpoint_tuples, keys),
    st.builds(
        m.EndQuorumEpochRequest,
        lengths,
        epochs,
        ids,
        endpoint_tuples,
        st.lists(keys, max_size=3).map(tuple),
    ),
    st.builds(m.FetchRequest, lengths, epochs, keys, offsets, epochs, offsets, lengths, lengths),
    st.builds(m.FetchSnapshotRequest, lengths, epochs, keys, snapshot_ids, offsets, lengths),
    st.builds(m.AddVoterRequest, lengths, keys, endpoint_tuples, lengths, st.booleans()),
    st.builds(m.RemoveVoterRequest, lengths, keys, st.just(5_000)),
    st.builds(m.UpdateVoterRequest, lengths, epochs, keys, endpoint_tuples, ranges, st.just(5_000)),
    st.builds(m.VersionsRequest, lengths),
)


@st.composite
def batch_tuples(draw: st.DrawFn) -> tuple[Batch, ...]:
    """Batches that follow each other, as a leader sends them."""
    offset, data = draw(st.integers(0, 2**40)), b""
    for _ in range(draw(st.integers(0, 3))):
        epoch = draw(st.integers(0, 9))
        if draw(st.booleans()):
            some = draw(st.lists(controls, min_size=1, max_size=3))
            data += control_batch(some, base_offset=offset, epoch=epoch, timestamp_ms=7)
            offset += len(some)
        else:
            values = draw(st.lists(st.binary(max_size=20), min_size=1, max_size=3))
            records = [(None, value) for value in values]
            data += build_batch(records, base_offset=offset, leader_epoch=epoch)
            offset += len(values)
    return batches_in(data)


@st.composite
def news(draw: st.DrawFn) -> m.LeaderNews:
    """As an answer can carry it: of the endpoints, the one for links."""
    leader_id = draw(st.none() | ids)
    host, port = draw(names), draw(st.integers(1, 60_000))
    known = leader_id is not None and draw(st.booleans())
    return m.LeaderNews(draw(epochs), leader_id, (Endpoint("INTERNAL", host, port),) * known)


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[m.Request, m.Response]:  # noqa: PLR0911  one per kind
    request = draw(requests)
    correlation, error, leader = request.correlation, draw(errors), draw(news())
    if isinstance(request, m.VoteRequest):
        return request, m.VoteResponse(correlation, error, leader, draw(st.booleans()))
    if isinstance(request, m.BeginQuorumEpochRequest):
        return request, m.BeginQuorumEpochResponse(correlation, error, leader)
    if isinstance(request, m.EndQuorumEpochRequest):
        return request, m.EndQuorumEpochResponse(correlation, error, leader)
    if isinstance(request, m.FetchRequest):
        return request, m.FetchResponse(
            correlation,
            error,
            leader,
            draw(offsets),
            draw(batch_tuples()),
            draw(st.none() | st.builds(EpochEnd, epochs, offsets)),
            draw(st.none() | snapshot_ids),
        )
    if isinstance(request, m.FetchSnapshotRequest):
        held, data = draw(snapshot_ids), draw(st.binary(max_size=30))
        return request, m.FetchSnapshotResponse(
            correlation, error, leader, held, draw(offsets), draw(offsets), data
        )
    if isinstance(request, m.VersionsRequest):
        return request, m.VersionsResponse(correlation, draw(keys), draw(ranges))
    if isinstance(request, m.UpdateVoterRequest):
        return request, m.VoterChangeResponse(correlation, error, leader)
    nobody = m.LeaderNews(-1, None)
    return request, m.VoterChangeResponse(correlation, error, nobody, draw(names))
