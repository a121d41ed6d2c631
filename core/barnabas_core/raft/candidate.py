"""Candidate: has voted for itself in a new epoch and asks the others to.

Its own vote counts when it is on disk, so leadership waits for that too.
"""

from typing import TYPE_CHECKING

from barnabas_core.raft.election import Election
from barnabas_core.raft.message import VoteRequest
from barnabas_core.raft.state import State

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Candidate(State):
    __slots__ = ("_election_at_ms", "election")
    name = "candidate"

    def __init__(self, election: Election, election_at_ms: int) -> None:
        self.election = election
        self._election_at_ms = election_at_ms

    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        return request.pre_vote and up_to_date

    def poll(self, quorum: "Quorum") -> None:
        if self.election.is_won and quorum.outbox.hard_state_is_durable:
            quorum.become_leader(self.election.granting)
        elif quorum.now_ms >= self._election_at_ms:
            # One who has lost waits for the timeout too: the winner's first word is on its way.
            quorum.become_prospective()
        elif not self.election.is_lost:
            self.election.ask(quorum, pre_vote=False)

    def deadline_ms(self, quorum: "Quorum") -> int:
        return self._election_at_ms

    def election_deadline_ms(self) -> int | None:
        return self._election_at_ms
