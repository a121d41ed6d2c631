"""The quorum-state file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft import HardState, NodeId, ReplicaKey
from barnabas_core.raft.quorum_state import (
    CorruptQuorumState,
    decode_quorum_state,
    encode_quorum_state,
)
from tests.support.raft_messages import epochs, ids, keys

# Written by Kafka 4.3.1.
KAFKA_STATIC = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
KAFKA_DYNAMIC = (
    b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
    b'"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)


@given(epochs, st.none() | ids, st.none() | keys)
def test_nothing_is_forgotten(
    epoch: int, leader_id: NodeId | None, voted: ReplicaKey | None
) -> None:
    state = HardState(epoch, leader_id, voted)

    assert decode_quorum_state(encode_quorum_state(state, 1)) == state


def test_with_static_voters_a_vote_is_known_by_its_node() -> None:
    state = HardState(3, None, ReplicaKey(NodeId(2), b"d" * 16))

    found = decode_quorum_state(encode_quorum_state(state, 0, [1, 2, 3]))

    assert found.voted == ReplicaKey(NodeId(2))


def test_kafkas_files_are_read_and_written_to_the_byte() -> None:
    state = HardState(2, NodeId(1))
    assert decode_quorum_state(KAFKA_STATIC) == state
    assert encode_quorum_state(state, 0, [1]) == KAFKA_STATIC

    dynamic = HardState(1, NodeId(1))
    assert decode_quorum_state(KAFKA_DYNAMIC) == dynamic
    assert encode_quorum_state(dynamic, 1) == KAFKA_DYNAMIC


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"leaderId":1}',
        KAFKA_STATIC.replace(b'"data_version":0', b'"data_version":2'),
        KAFKA_DYNAMIC.replace(b"AAAA", b"A", 1),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptQuorumState):
        decode_quorum_state(data)
