"""The count of one election: which voters were asked, and what they said."""

from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.message import VoteRequest
from barnabas_core.raft.voter import VoterSet

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class Election:
    __slots__ = ("_answers", "_voters")

    def __init__(self, voters: VoterSet, local_id: NodeId) -> None:
        self._voters = voters
        self._answers: dict[NodeId, bool] = {}
        self.record(local_id, granted=True)

    @property
    def is_won(self) -> bool:
        return sum(self._answers.values()) >= self._voters.majority

    @property
    def is_lost(self) -> bool:
        refused = len(self._answers) - sum(self._answers.values())
        return len(self._voters) - refused < self._voters.majority

    @property
    def granting(self) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self._voters if self._answers.get(voter.node_id))

    def record(self, voter_id: NodeId, *, granted: bool) -> None:
        """Who has granted has granted; who has refused may think better of it."""
        if self._voters.get(voter_id) is not None:
            self._answers[voter_id] = granted or self._answers.get(voter_id, False)

    def ask(self, quorum: "Quorum", *, pre_vote: bool) -> None:
        """Send the request to each voter that has not answered; a refused pre-vote, again."""
        for voter in self._voters:
            answer = self._answers.get(voter.node_id)
            is_settled = answer is not None and (answer or not pre_vote)
            if is_settled or not quorum.can_ask(voter.node_id, VoteRequest):
                continue
            quorum.send(
                voter.node_id,
                VoteRequest(
                    quorum.requests.start(voter.node_id, VoteRequest, quorum.now_ms),
                    quorum.epoch,
                    quorum.local.key,
                    voter.key,
                    quorum.log.last_epoch,
                    quorum.log.end_offset,
                    pre_vote,
                ),
            )
