"""Changes of the voters at the leader (KIP-853): one at a time, each a record in the log.

The new set counts from the moment it is appended, so two changes under way could make two
majorities that share no node. Hence: no change before the last is committed, and none before the
leader has committed something in its own epoch.
"""

from barnabas_core.raft.fetch import leader_error
from barnabas_core.raft.identity import KRAFT_VERSIONS, NodeId
from barnabas_core.raft.leader import Leader
from barnabas_core.raft.message import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpgradeVersionRequest,
    VersionsRequest,
    VersionsResponse,
    VoterChangeResponse,
    VoterRequest,
)
from barnabas_core.raft.pending_change import PendingChange, answer_voter_request
from barnabas_core.raft.progress import NEVER_MS
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.record import Control, KRaftVersionChange, VotersChange
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.wire.error_code import ErrorCode


class _Refused(Exception):
    """Ends a decision; becomes the answer."""

    def __init__(self, error: ErrorCode, reason: str = "") -> None:
        super().__init__(reason)
        self.error = error
        self.reason = reason


def on_voter_request(quorum: Quorum, source: NodeId, request: VoterRequest) -> None:
    try:
        leader = _leader_for(quorum, request)
        controls = _decide(quorum, leader, request)
    except _Refused as refused:
        answer_voter_request(quorum, source, request, refused.error, refused.reason)
        return
    leader.change = PendingChange(source, request, quorum.now_ms + request.timeout_ms)
    if controls:
        leader.change.offset = quorum.append_as_leader((), controls) - 1


def _leader_for(quorum: Quorum, request: VoterRequest) -> Leader:
    if isinstance(request, UpdateVoterRequest):
        error = leader_error(quorum, request.epoch)
        if error is not ErrorCode.NONE:
            raise _Refused(error)
    leader = quorum.leader
    if leader is None:
        raise _Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if not leader.has_committed(quorum):
        raise _Refused(ErrorCode.REQUEST_TIMED_OUT, "nothing is committed in this epoch yet")
    if leader.change is not None or quorum.history.voters_offset >= quorum.high_watermark:
        raise _Refused(ErrorCode.REQUEST_TIMED_OUT, "another change of the voters is under way")
    return leader


def _decide(quorum: Quorum, leader: Leader, request: VoterRequest) -> tuple[Control, ...]:
    """The control records of the change; none yet for a voter that is to be asked first."""
    if isinstance(request, UpgradeVersionRequest):
        return _upgrade(quorum, leader, request)
    if quorum.history.kraft_version < 1:
        raise _Refused(ErrorCode.UNSUPPORTED_VERSION, "kraft.version 0 has static voters")
    if isinstance(request, AddVoterRequest):
        _check_new(quorum, leader, request)
        return ()
    if isinstance(request, RemoveVoterRequest):
        return (VotersChange(_without(quorum, request)),)
    return (VotersChange(_updated(quorum, request)),)


def _check_new(quorum: Quorum, leader: Leader, request: AddVoterRequest) -> None:
    if not request.voter.has_directory:
        raise _Refused(ErrorCode.INVALID_REQUEST, "a voter has a directory id")
    if quorum.history.voters.get(request.voter.node_id) is not None:
        raise _Refused(ErrorCode.DUPLICATE_VOTER, f"node {request.voter.node_id} votes already")
    progress = leader.progress.get(request.voter)
    # One that has to catch up first would hold commits up as soon as it is needed for a majority.
    since_ms = quorum.now_ms - quorum.config.fetch_timeout_ms
    if progress is None or progress.caught_up_at_ms < max(since_ms, NEVER_MS + 1):
        raise _Refused(ErrorCode.REQUEST_TIMED_OUT, "the new voter has not caught up")


def _without(quorum: Quorum, request: RemoveVoterRequest) -> VoterSet:
    voters = quorum.history.voters
    voter = voters.get(request.voter.node_id)
    if voter is None or voter.key != request.voter:
        raise _Refused(ErrorCode.VOTER_NOT_FOUND)
    if len(voters) == 1:
        raise _Refused(ErrorCode.INVALID_REQUEST, "the last voter stays")
    return voters.without(voter)


def _updated(quorum: Quorum, request: UpdateVoterRequest) -> VoterSet:
    voter = quorum.history.voters.find(request.voter)
    if voter is None:
        raise _Refused(ErrorCode.VOTER_NOT_FOUND)
    low, high = request.kraft_versions
    if not low <= quorum.history.kraft_version <= high:
        raise _Refused(ErrorCode.INVALID_REQUEST, "it cannot run the finalized kraft.version")
    updated = Voter(request.voter, request.endpoints, request.kraft_versions)
    if updated == voter:
        raise _Refused(ErrorCode.NONE)
    return quorum.history.voters.replacing(updated)


def _upgrade(quorum: Quorum, leader: Leader, request: UpgradeVersionRequest) -> tuple[Control, ...]:
    if request.level == quorum.history.kraft_version:
        raise _Refused(ErrorCode.NONE)
    if not quorum.history.kraft_version < request.level <= KRAFT_VERSIONS.maximum:
        raise _Refused(ErrorCode.INVALID_UPDATE_VERSION, f"no way to level {request.level}")
    voters = VoterSet.of(_with_directory(quorum, leader, one) for one in quorum.history.voters)
    return (KRaftVersionChange(request.level), VotersChange(voters))


def _with_directory(quorum: Quorum, leader: Leader, voter: Voter) -> Voter:
    if quorum.is_local(voter):
        return quorum.local.voter
    progress = leader.progress.of(voter)
    if progress is None or not progress.replica.has_directory:
        raise _Refused(ErrorCode.INVALID_UPDATE_VERSION, f"no fetch from node {voter.node_id} yet")
    return Voter(progress.replica, voter.endpoints, voter.kraft_versions)


def on_versions_request(quorum: Quorum, source: NodeId, request: VersionsRequest) -> None:
    local = quorum.local
    quorum.send(source, VersionsResponse(request.correlation, local.key, local.kraft_versions))


def on_versions_response(quorum: Quorum, source: NodeId, response: VersionsResponse) -> None:
    if not quorum.requests.finish(source, VersionsRequest, response.correlation):
        return
    leader = quorum.leader
    change = None if leader is None else leader.change
    if leader is None or change is None or not isinstance(change.request, AddVoterRequest):
        return
    if change.offset is not None or change.request.voter.node_id != source:
        return
    low, high = response.kraft_versions
    if response.replica != change.request.voter:
        leader.change = None
        change.answer(quorum, ErrorCode.INVALID_REQUEST, "it answers with another directory id")
    elif not low <= quorum.history.kraft_version <= high:
        leader.change = None
        change.answer(
            quorum, ErrorCode.INVALID_REQUEST, "it cannot run the finalized kraft.version"
        )
    else:
        voter = Voter(change.request.voter, change.request.endpoints, response.kraft_versions)
        voters = quorum.history.voters.with_voter(voter)
        change.offset = quorum.append_as_leader((), (VotersChange(voters),)) - 1


def on_voter_change_response(quorum: Quorum, source: NodeId, response: VoterChangeResponse) -> None:
    for kind in (AddVoterRequest, RemoveVoterRequest, UpdateVoterRequest):
        if quorum.requests.finish(source, kind, response.correlation):
            quorum.absorb(response.news)
            return
