"""Fetch and FetchSnapshot at the leader (KIP-595, KIP-630)."""

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from barnabas_core.raft.parked_fetch import ParkedFetch
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.raft_log import Diverging, Missing, locate
from barnabas_core.wire.error_code import ErrorCode


def leader_error(quorum: Quorum, epoch: int) -> ErrorCode:
    """What is wrong with a request that only the leader of `epoch` can answer."""
    if epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > quorum.epoch:
        # Not a reason to follow: an epoch is raised by votes and by leaders, not by those who ask.
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if quorum.leader is not None else ErrorCode.NOT_LEADER_OR_FOLLOWER


def on_fetch_request(quorum: Quorum, source: NodeId, request: FetchRequest) -> None:
    error = leader_error(quorum, request.epoch)
    if error is ErrorCode.NONE and (request.fetch_offset < 0 or request.last_fetched_epoch < 0):
        error = ErrorCode.INVALID_REQUEST
    leader = quorum.leader
    if error is not ErrorCode.NONE or leader is None:
        quorum.send(source, FetchResponse(request.correlation, error, quorum.news()))
        return
    leader.on_heard(quorum, request.replica)
    leader.parking.forget(request.replica)
    where = locate(quorum.log, request.fetch_offset, request.last_fetched_epoch)
    if isinstance(where, Diverging | Missing):
        _send_elsewhere(quorum, source, request, where)
    else:
        leader.on_fetch(quorum, request.replica, request.fetch_offset)
        # The poll after this event answers it if there is news.
        leader.parking.put(ParkedFetch(source, request, quorum.now_ms + request.max_wait_ms))


def _send_elsewhere(
    quorum: Quorum, source: NodeId, request: FetchRequest, where: Diverging | Missing
) -> None:
    response = FetchResponse(
        request.correlation,
        ErrorCode.NONE,
        quorum.news(),
        quorum.high_watermark,
        diverging=where.at if isinstance(where, Diverging) else None,
        snapshot_id=where.snapshot_id if isinstance(where, Missing) else None,
    )
    quorum.send(source, response)


def on_fetch_snapshot_request(
    quorum: Quorum, source: NodeId, request: FetchSnapshotRequest
) -> None:
    error = leader_error(quorum, request.epoch)
    leader = quorum.leader
    if error is not ErrorCode.NONE or leader is None:
        _refuse_snapshot(quorum, source, request, error)
        return
    leader.on_heard(quorum, request.replica)
    chunk = quorum.log.read_snapshot(request.snapshot_id, request.position, request.max_bytes)
    if chunk is None:
        _refuse_snapshot(quorum, source, request, ErrorCode.SNAPSHOT_NOT_FOUND)
    elif not 0 <= request.position < chunk.size_bytes:
        _refuse_snapshot(quorum, source, request, ErrorCode.POSITION_OUT_OF_RANGE)
    else:
        response = FetchSnapshotResponse(
            request.correlation,
            ErrorCode.NONE,
            quorum.news(),
            request.snapshot_id,
            request.position,
            chunk.size_bytes,
            chunk.data,
        )
        quorum.send(source, response)


def _refuse_snapshot(
    quorum: Quorum, source: NodeId, request: FetchSnapshotRequest, error: ErrorCode
) -> None:
    news = quorum.news()
    quorum.send(
        source, FetchSnapshotResponse(request.correlation, error, news, request.snapshot_id)
    )
