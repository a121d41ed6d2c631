"""Prospective: would the others elect me? (KIP-996)

Asking raises nobody's epoch, so a node that was merely cut off cannot depose a good leader.
"""

from typing import TYPE_CHECKING

from barnabas_core.raft.election import Election
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import VoteRequest
from barnabas_core.raft.state import State, grants_unbound

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Prospective(State):
    __slots__ = ("_election_at_ms", "election")
    name = "prospective"

    def __init__(self, election: Election, election_at_ms: int) -> None:
        self.election = election
        self._election_at_ms = election_at_ms

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        return grants_unbound(quorum, request, up_to_date=up_to_date)

    def poll(self, quorum: "Quorum") -> None:
        if self.election.is_won:
            quorum.become_candidate()
        elif self.election.is_lost or quorum.now_ms >= self._election_at_ms:
            self._give_up(quorum)
        else:
            self.election.ask(quorum, pre_vote=True)

    def _give_up(self, quorum: "Quorum") -> None:
        """Back to the leader if one is known: the others may well hear it."""
        leader_id = quorum.hard.leader_id
        if leader_id is not None and leader_id != quorum.local.node_id:
            quorum.become_follower(quorum.epoch, leader_id, quorum.leader_endpoints)
        else:
            quorum.become_unattached(quorum.epoch, fresh_deadline=True)

    def on_answer(self, quorum: "Quorum", source: NodeId, *, granted: bool) -> None:
        self.election.record(source, granted=granted)
        if not granted:
            self.ask_later(quorum, source)

    def ask_later(self, quorum: "Quorum", node_id: NodeId) -> None:
        """It refuses as long as it hears its leader, and has given up a lost one after the spread.

        One that has our pre-vote has that time to win: asked at once it would grant us its own,
        and both would stand.
        """
        quorum.requests.back_off(node_id, quorum.now_ms, quorum.config.fetch_spread_ms)

    def on_shorter_log_stands(self, quorum: "Quorum", node_id: NodeId) -> None:
        """It hears its leader no more, and cannot win: whatever it refused, it would grant now."""
        quorum.requests.end_back_off(node_id)

    def deadline_ms(self, quorum: "Quorum") -> int:
        return self._election_at_ms

    def election_deadline_ms(self) -> int | None:
        return self._election_at_ms
