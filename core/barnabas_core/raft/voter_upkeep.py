"""What a follower does for its own place among the voters (KIP-853).

A voter whose endpoints or versions differ from its record has it updated. With auto-join, a node
that could vote but does not asks to be added, and first has the voter removed that it was before
it lost its disk.
"""

from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import AddVoterRequest, RemoveVoterRequest, UpdateVoterRequest

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class VoterUpkeep:
    __slots__ = ("deadline_ms",)

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms

    def poll(self, quorum: "Quorum", leader_id: NodeId) -> None:
        if quorum.now_ms < self.deadline_ms:
            return
        self.deadline_ms = quorum.now_ms + quorum.config.voter_upkeep_interval_ms
        if quorum.history.kraft_version < 1:
            return
        if quorum.is_voter:
            self._maybe_update(quorum, leader_id)
        elif quorum.config.auto_join and quorum.local.can_vote:
            self._join(quorum, leader_id)

    def _maybe_update(self, quorum: "Quorum", leader_id: NodeId) -> None:
        local = quorum.local
        voter = quorum.history.voters.find(local.key)
        if voter == local.voter or not quorum.can_ask(leader_id, UpdateVoterRequest):
            return
        correlation = quorum.requests.start(leader_id, UpdateVoterRequest, quorum.now_ms)
        quorum.send(
            leader_id,
            UpdateVoterRequest(
                correlation,
                quorum.epoch,
                local.key,
                local.endpoints,
                local.kraft_versions,
                quorum.config.request_timeout_ms,
            ),
        )

    def _join(self, quorum: "Quorum", leader_id: NodeId) -> None:
        timeout_ms = quorum.config.request_timeout_ms
        former = quorum.history.voters.get(quorum.local.node_id)
        kind = AddVoterRequest if former is None else RemoveVoterRequest
        if not quorum.can_ask(leader_id, kind):
            return
        correlation = quorum.requests.start(leader_id, kind, quorum.now_ms)
        if former is not None:
            quorum.send(leader_id, RemoveVoterRequest(correlation, former.key, timeout_ms))
            return
        local = quorum.local
        # The leader commits the change with this node's help: waiting for it would hold up the
        # fetches that bring it here.
        quorum.send(
            leader_id,
            AddVoterRequest(
                correlation, local.key, local.endpoints, timeout_ms, ack_when_committed=False
            ),
        )
