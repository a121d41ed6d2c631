"""What the six states of a node have in common: they decide votes, and they act when polled.

A state holds only what ends with it. Epoch, vote and leader are in the quorum's hard state.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from barnabas_core.raft.message import VoteRequest

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


class State(ABC):
    __slots__ = ()
    name: ClassVar[str]

    @abstractmethod
    def grants(self, quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
        """Does the sender get this node's vote in the current epoch?"""

    @abstractmethod
    def poll(self, quorum: "Quorum") -> None:
        """Do what is due. Called after every event; whoever changes the state returns at once."""

    @abstractmethod
    def deadline_ms(self, quorum: "Quorum") -> int:
        """When something falls due even if no event comes."""

    def election_deadline_ms(self) -> int | None:
        """When this state would have stood for election: a newer epoch must not push it back."""
        return None

    def leave(self, quorum: "Quorum") -> None:  # noqa: B027 - most states leave nothing behind
        """Answer whoever waits for something that only this state could give."""


def grants_unbound(quorum: "Quorum", request: VoteRequest, *, up_to_date: bool) -> bool:
    """The vote of a node that follows nobody: one per epoch, for a log no shorter than its own."""
    hard = quorum.hard
    if request.pre_vote:
        return up_to_date
    if hard.leader_id is not None:
        return False
    if hard.voted is not None:
        return hard.voted == request.candidate
    return up_to_date
