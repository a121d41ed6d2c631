"""Peers that say anything: a node answers or ignores it, and loses nothing that it has promised."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft import NodeId, SnapshotId
from barnabas_core.raft import message as m
from barnabas_core.raft.identity import CLIENT, VersionRange
from barnabas_core.raft.raft_log import EpochEnd
from barnabas_core.raft.record import Batch
from barnabas_core.wire.error_code import ErrorCode
from tests.support.raft_lab import Lab, key

small = st.integers(-1, 9)
nodes = st.integers(1, 5).map(NodeId)
keys = st.builds(key, st.integers(1, 5), st.integers(0, 2))
snapshots = st.builds(SnapshotId, small, small)
errors = st.sampled_from([ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER])
# No news of a leader: a peer that lies about leaders is the one thing that stops a node.
news = st.builds(m.LeaderNews, st.integers(0, 3), st.none())
versions = st.builds(VersionRange, small, small)
batches = st.lists(st.builds(Batch, small, small, st.integers(1, 3)), max_size=2).map(tuple)
timeouts = st.integers(0, 500)

requests = st.one_of(
    st.builds(m.VoteRequest, small, small, keys, keys, small, small, st.booleans()),
    st.builds(m.FetchRequest, small, small, keys, small, small, small, timeouts, small),
    st.builds(m.FetchSnapshotRequest, small, small, keys, snapshots, small, small),
    st.builds(m.AddVoterRequest, small, keys, st.just(()), timeouts, st.booleans()),
    st.builds(m.RemoveVoterRequest, small, keys, timeouts),
    st.builds(m.UpdateVoterRequest, small, small, keys, st.just(()), versions, timeouts),
    st.builds(m.UpgradeVersionRequest, small, small, timeouts),
    st.builds(m.VersionsRequest, small),
)
# Nodes of the lab count from 10, 20 and 30 on: some of these were really asked for.
correlations = st.integers(10, 45)
responses = st.one_of(
    st.builds(m.VoteResponse, correlations, errors, news, st.booleans()),
    st.builds(m.FetchResponse, correlations, errors, news, small, batches, st.none(), st.none()),
    st.builds(
        m.FetchResponse, correlations, errors, news, small, st.just(()), st.none(), snapshots
    ),
    st.builds(m.FetchSnapshotResponse, correlations, errors, news, snapshots, small, small),
    st.builds(m.BeginQuorumEpochResponse, correlations, errors, news),
    st.builds(m.EndQuorumEpochResponse, correlations, errors, news),
    st.builds(m.VoterChangeResponse, correlations, errors, news),
    st.builds(m.VersionsResponse, correlations, keys, versions),
)
sources = st.one_of(nodes, st.just(CLIENT))
steps = st.lists(
    st.tuples(sources, st.integers(1, 3), st.one_of(requests, responses), st.integers(0, 300)),
    min_size=1,
    max_size=12,
)


def promised(lab: Lab) -> list[tuple[int, int, tuple[Batch, ...]]]:
    return [
        (
            lab[node_id].quorum.epoch,
            lab[node_id].quorum.high_watermark,
            tuple(
                batch
                for batch in lab.log(node_id).read(0, 1 << 20)
                if batch.end_offset <= lab[node_id].quorum.high_watermark
            ),
        )
        for node_id in (1, 2, 3)
    ]


@given(st.booleans(), steps)
def test_no_message_takes_a_promise_back(
    dynamic: bool, script: list[tuple[NodeId, int, m.Body, int]]
) -> None:
    lab = Lab(dynamic=dynamic)
    lab.elect(1)
    lab.append(1, "a")
    lab.deliver()

    for source, target, body, wait_ms in script:
        before = promised(lab)
        if source != target:
            lab.step(target, m.Message(source, NodeId(target), body))
        lab.in_flight = [one for one in lab.in_flight if one.target in lab.benches]
        lab.pass_ms(wait_ms)
        after = promised(lab)
        for (epoch, end, batches_), (new_epoch, new_end, new_batches) in zip(
            before, after, strict=True
        ):
            assert new_epoch >= epoch
            assert new_end >= end
            assert new_batches[: len(batches_)] == batches_


def test_a_leader_s_divergence_beyond_reason_is_survived() -> None:
    """It names an epoch that nobody had: the follower keeps what it has of older ones."""
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    (message,) = lab.sent(m.FetchResponse, 2)
    lab.drop()
    assert isinstance(message.body, m.FetchResponse)
    odd = m.FetchResponse(
        message.body.correlation,
        ErrorCode.NONE,
        lab[1].quorum.news(),
        diverging=EpochEnd(7, 100),
    )

    lab.step(2, m.Message(NodeId(1), NodeId(2), odd))

    assert lab.log(2).end_offset == 1
