"""The `quorum-state` file: epoch, leader and vote of a node, as Kafka 4.x writes them.

One line of JSON. Data version 0 goes with kraft.version 0: it lists the voters and knows a vote by
node id alone. Data version 1 has the directory id of the vote, and no voters: those are in the log.
"""

import json
from collections.abc import Iterable

from barnabas_core.raft.identity import NO_DIRECTORY, NodeId, ReplicaKey
from barnabas_core.raft.ready import HardState
from barnabas_core.wire.primitive import uuid_from_text, uuid_text

QUORUM_STATE_FILE = "quorum-state"
_NOBODY = -1


class CorruptQuorumState(Exception):
    """The file is not one that Kafka or this project writes."""


def encode_quorum_state(
    hard_state: HardState, kraft_version: int, voter_ids: Iterable[int] = ()
) -> bytes:
    voted = hard_state.voted
    state: dict[str, object] = {
        "leaderId": _NOBODY if hard_state.leader_id is None else hard_state.leader_id,
        "leaderEpoch": hard_state.epoch,
        "votedId": _NOBODY if voted is None else voted.node_id,
    }
    if kraft_version > 0:
        directory_id = NO_DIRECTORY if voted is None else voted.directory_id
        state["votedDirectoryId"] = uuid_text(directory_id)
        state["data_version"] = 1
    else:
        # Kafka has given up the cluster id and the applied offset, but not their places.
        state = {"clusterId": "", **state, "appliedOffset": 0}
        state["currentVoters"] = [{"voterId": voter_id} for voter_id in voter_ids]
        state["data_version"] = 0
    return json.dumps(state, separators=(",", ":")).encode()


def decode_quorum_state(data: bytes) -> HardState:
    try:
        state = json.loads(data)
        version = state["data_version"]
        if version not in (0, 1):
            raise CorruptQuorumState(f"data version {version}")
        leader_id, voted_id = int(state["leaderId"]), int(state["votedId"])
        directory_id = NO_DIRECTORY
        if version == 1:
            directory_id = uuid_from_text(state["votedDirectoryId"])
        epoch = int(state["leaderEpoch"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptQuorumState(f"{error!r} in {data[:200]!r}") from error
    return HardState(
        epoch,
        None if leader_id == _NOBODY else NodeId(leader_id),
        None if voted_id == _NOBODY else ReplicaKey(NodeId(voted_id), directory_id),
    )
