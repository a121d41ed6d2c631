"""The one change of the voters that a leader has under way (KIP-853)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import (
    AddVoterRequest,
    VersionsRequest,
    VoterChangeResponse,
    VoterRequest,
)
from barnabas_core.wire.error_code import ErrorCode

if TYPE_CHECKING:
    from barnabas_core.raft.quorum import Quorum


@dataclass(slots=True)
class PendingChange:
    source: NodeId
    request: VoterRequest
    deadline_ms: int
    offset: int | None = None
    """Of the voters record, once it is in the log."""
    is_answered: bool = False

    def answer(self, quorum: "Quorum", error: ErrorCode, reason: str = "") -> None:
        if not self.is_answered:
            self.is_answered = True
            answer_voter_request(quorum, self.source, self.request, error, reason)

    def poll(self, quorum: "Quorum") -> bool:
        """True when there is nothing left to wait for."""
        if self.offset is not None and self.offset < quorum.high_watermark:
            self.answer(quorum, ErrorCode.NONE)
            return True
        if quorum.now_ms >= self.deadline_ms:
            self.answer(quorum, ErrorCode.REQUEST_TIMED_OUT, "the change may still be committed")
            return True
        if self.offset is None:
            self._ask_versions(quorum)
        elif isinstance(self.request, AddVoterRequest) and not self.request.ack_when_committed:
            self.answer(quorum, ErrorCode.NONE)
        return False

    def _ask_versions(self, quorum: "Quorum") -> None:
        assert isinstance(self.request, AddVoterRequest), "only a new voter is asked first"
        target = self.request.voter.node_id
        if quorum.can_ask(target, VersionsRequest):
            correlation = quorum.requests.start(target, VersionsRequest, quorum.now_ms)
            quorum.send(target, VersionsRequest(correlation))


def answer_voter_request(
    quorum: "Quorum", source: NodeId, request: VoterRequest, error: ErrorCode, reason: str = ""
) -> None:
    response = VoterChangeResponse(request.correlation, error, quorum.news(), reason)
    quorum.send(source, response)
