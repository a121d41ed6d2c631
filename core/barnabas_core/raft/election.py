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
        """Only the first answer to a question counts."""
        if self._voters.get(voter_id) is not None:
            self._answers.setdefault(voter_id, granted)

    def forget_refusal(self, voter_id: NodeId) -> None:
        """What it said holds no longer: it is asked again."""
        if self._answers.get(voter_id) is False:
            del self._answers[voter_id]

    def ask(self, quorum: "Quorum", *, pre_vote: bool) -> None:
        """Send the request to each voter that has neither answered nor been asked."""
        for voter in self._voters:
            if voter.node_id in self._answers or not quorum.can_ask(voter.node_id, VoteRequest):
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
