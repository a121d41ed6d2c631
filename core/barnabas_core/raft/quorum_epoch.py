"""BeginQuorumEpoch and EndQuorumEpoch: a leader says that it has won, and that it lets go."""

from barnabas_core.raft.follower import Follower
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    LeaderNews,
)
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.resigned import Resigned
from barnabas_core.wire.error_code import ErrorCode


def on_begin_request(quorum: Quorum, source: NodeId, request: BeginQuorumEpochRequest) -> None:
    error = _begin(quorum, request)
    quorum.send(source, BeginQuorumEpochResponse(request.correlation, error, quorum.news()))


def _begin(quorum: Quorum, request: BeginQuorumEpochRequest) -> ErrorCode:
    if request.leader_id == quorum.local.node_id:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.voter.has_directory and request.voter != quorum.local.key:
        return ErrorCode.INVALID_VOTER_KEY
    news = LeaderNews(request.epoch, request.leader_id, request.endpoints)
    if not quorum.absorb(news) and not isinstance(quorum.state, Follower):
        # It had given this leader up, and here the leader is.
        quorum.become_follower(request.epoch, request.leader_id, request.endpoints)
    return ErrorCode.NONE


def on_begin_response(quorum: Quorum, source: NodeId, response: BeginQuorumEpochResponse) -> None:
    if quorum.requests.finish(source, BeginQuorumEpochRequest, response.correlation):
        quorum.absorb(response.news)


def on_end_request(quorum: Quorum, source: NodeId, request: EndQuorumEpochRequest) -> None:
    error = _end(quorum, request)
    quorum.send(source, EndQuorumEpochResponse(request.correlation, error, quorum.news()))


def _end(quorum: Quorum, request: EndQuorumEpochRequest) -> ErrorCode:
    if request.leader_id == quorum.local.node_id:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    quorum.absorb(LeaderNews(request.epoch, request.leader_id, request.endpoints))
    if isinstance(quorum.state, Follower):
        quorum.state.on_leader_resigned(_stand_at_ms(quorum, request))
    return ErrorCode.NONE


def _stand_at_ms(quorum: Quorum, request: EndQuorumEpochRequest) -> int:
    """The first successor stands at once, each further one leaves the one before it more time."""
    if quorum.local.key in request.successors:
        place = request.successors.index(quorum.local.key)
    else:
        known = [key.node_id for key in request.successors if not key.has_directory]
        if quorum.local.node_id not in known:
            return quorum.election_timeout_at_ms()
        place = known.index(quorum.local.node_id)
    if place == 0:
        return quorum.now_ms
    step_ms = quorum.config.election_timeout_ms // max(2, len(request.successors))
    return quorum.now_ms + place * step_ms + quorum.rng.randrange(max(1, step_ms))


def on_end_response(quorum: Quorum, source: NodeId, response: EndQuorumEpochResponse) -> None:
    if not quorum.requests.finish(source, EndQuorumEpochRequest, response.correlation):
        return
    if not quorum.absorb(response.news) and isinstance(quorum.state, Resigned):
        quorum.state.on_told(source)
