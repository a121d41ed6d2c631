"""Vote and pre-vote, asked and answered (KIP-595, KIP-996)."""

from barnabas_core.raft.candidate import Candidate
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import VoteRequest, VoteResponse
from barnabas_core.raft.prospective import Prospective
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.unattached import Unattached
from barnabas_core.wire.error_code import ErrorCode


def on_vote_request(quorum: Quorum, source: NodeId, request: VoteRequest) -> None:
    """A node answers even if it knows of no vote of its own: its log may be behind (KIP-853)."""
    error = _refusal(quorum, request)
    granted = error is ErrorCode.NONE and _decide(quorum, request)
    quorum.send(source, VoteResponse(request.correlation, error, quorum.news(), granted))


def _refusal(quorum: Quorum, request: VoteRequest) -> ErrorCode:
    # A candidate's log ends before the epoch it stands for; one that only asks may be in it.
    newest_epoch = request.epoch if request.pre_vote else request.epoch - 1
    if request.end_offset < 0 or not 0 <= request.last_epoch <= newest_epoch:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.voter.has_directory and request.voter != quorum.local.key:
        return ErrorCode.INVALID_VOTER_KEY
    return ErrorCode.NONE


def _decide(quorum: Quorum, request: VoteRequest) -> bool:
    if request.epoch > quorum.epoch:
        quorum.become_unattached(request.epoch)
    ours = (quorum.log.last_epoch, quorum.log.end_offset)
    up_to_date = (request.last_epoch, request.end_offset) >= ours
    granted = quorum.state.grants(quorum, request, up_to_date=up_to_date)
    if granted and not request.pre_vote:
        quorum.record_vote(request.candidate)
        if isinstance(quorum.state, Unattached):
            quorum.state.on_vote_granted(quorum.election_timeout_at_ms())
    elif isinstance(quorum.state, Prospective):
        if up_to_date:
            quorum.state.ask_later(quorum, request.candidate.node_id)
        else:
            quorum.state.on_shorter_log_stands(quorum, request.candidate.node_id)
    return granted


def on_vote_response(quorum: Quorum, source: NodeId, response: VoteResponse) -> None:
    if not quorum.requests.finish(source, VoteRequest, response.correlation):
        return
    if quorum.absorb(response.news):
        return
    if response.error is not ErrorCode.NONE:
        quorum.requests.back_off(source, quorum.now_ms)
    elif isinstance(quorum.state, Prospective):
        quorum.state.on_answer(quorum, source, granted=response.granted)
    elif isinstance(quorum.state, Candidate):
        quorum.state.election.record(source, granted=response.granted)
