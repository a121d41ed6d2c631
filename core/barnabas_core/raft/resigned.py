"""Resigned: led this epoch and must not lead it again; tells the others, then moves on.

A node that finds in its quorum-state that it was the leader starts here too: what it had sent but
not synced may be gone, so the same epoch must not go on.
"""

from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.message import EndQuorumEpochRequest, VoteRequest
from barnabas_core.raft.state import State

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Resigned(State):
    __slots__ = ("_end_at_ms", "_successors", "_untold")
    name = "resigned"

    def __init__(
        self, successors: tuple[ReplicaKey, ...], untold: tuple[NodeId, ...], end_at_ms: int
    ) -> None:
        self._successors = successors
        self._untold = untold
        self._end_at_ms = end_at_ms

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        return request.pre_vote and up_to_date

    def poll(self, quorum: "Quorum") -> None:
        if quorum.now_ms >= self._end_at_ms:
            quorum.become_unattached(quorum.epoch + 1)
            return
        for node_id in self._untold:
            if quorum.can_ask(node_id, EndQuorumEpochRequest):
                self._tell(quorum, node_id)

    def _tell(self, quorum: "Quorum", node_id: NodeId) -> None:
        quorum.send(
            node_id,
            EndQuorumEpochRequest(
                quorum.requests.start(node_id, EndQuorumEpochRequest, quorum.now_ms),
                quorum.epoch,
                quorum.local.node_id,
                quorum.local.endpoints,
                self._successors,
            ),
        )

    def deadline_ms(self, quorum: "Quorum") -> int:
        return self._end_at_ms

    def on_told(self, node_id: NodeId) -> None:
        self._untold = tuple(other for other in self._untold if other != node_id)
