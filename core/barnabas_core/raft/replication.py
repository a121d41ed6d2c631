"""What a follower does with the leader's answers: append, truncate, load a snapshot."""

from barnabas_core.raft.follower import Download, Follower
from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from barnabas_core.raft.quorum import Quorum
from barnabas_core.raft.raft_log import EpochEnd, SnapshotId
from barnabas_core.raft.ready import WriteSnapshot
from barnabas_core.raft.record import Batch
from barnabas_core.wire.error_code import ErrorCode


def on_fetch_response(quorum: Quorum, source: NodeId, response: FetchResponse) -> None:
    if not quorum.requests.finish(source, FetchRequest, response.correlation):
        return
    if quorum.absorb(response.news):
        return
    follower = quorum.state
    if response.error is not ErrorCode.NONE:
        # Who does not lead now will hardly lead a moment later: no need to ask at full speed.
        quorum.requests.back_off(source, quorum.now_ms, quorum.config.fetch_max_wait_ms // 4)
    elif isinstance(follower, Follower) and source == follower.leader_id:
        _follow(quorum, follower, response)


def _follow(quorum: Quorum, follower: Follower, response: FetchResponse) -> None:
    if response.diverging is not None:
        quorum.truncate(truncation_point(quorum, response.diverging))
    elif response.snapshot_id is not None and _is_ahead(quorum, response.snapshot_id):
        follower.download = Download(response.snapshot_id)
    elif response.snapshot_id is None and _continues(quorum, response.batches):
        if response.batches:
            quorum.append(response.batches)
        follower.leader_high_watermark = response.high_watermark
    else:
        quorum.requests.back_off(follower.leader_id, quorum.now_ms)
        return
    follower.on_leader_heard(quorum)


def _is_ahead(quorum: Quorum, snapshot_id: SnapshotId) -> bool:
    return snapshot_id.end_offset > quorum.high_watermark


def _continues(quorum: Quorum, batches: tuple[Batch, ...]) -> bool:
    """A leader that sends anything else has gone wrong: its answer is not taken."""
    offset, epoch = quorum.log.end_offset, quorum.log.last_epoch
    for batch in batches:
        if batch.base_offset != offset or not epoch <= batch.epoch <= quorum.epoch:
            return False
        offset, epoch = batch.end_offset, batch.epoch
    return True


def truncation_point(quorum: Quorum, leader: EpochEnd) -> int:
    """Where this log and the leader's may still agree (KIP-595; as KIP-279 for partitions)."""
    ours = quorum.log.end_offset_for_epoch(leader.epoch)
    if ours is None:
        return quorum.log.start_offset
    if ours.epoch == leader.epoch:
        return min(ours.end_offset, leader.end_offset)
    return ours.end_offset


def on_fetch_snapshot_response(
    quorum: Quorum, source: NodeId, response: FetchSnapshotResponse
) -> None:
    if not quorum.requests.finish(source, FetchSnapshotRequest, response.correlation):
        return
    if quorum.absorb(response.news):
        return
    follower = quorum.state
    if not isinstance(follower, Follower) or source != follower.leader_id:
        return
    if response.error is not ErrorCode.NONE:
        # Whatever is wrong with this snapshot, the next fetch says what to load instead.
        follower.download = None
        quorum.requests.back_off(source, quorum.now_ms)
    elif follower.download is not None:
        _take_chunk(quorum, follower, follower.download, response)


def _take_chunk(
    quorum: Quorum, follower: Follower, download: Download, response: FetchSnapshotResponse
) -> None:
    if response.snapshot_id != download.snapshot_id or response.position != download.position:
        follower.download = None
        return
    follower.on_leader_heard(quorum)
    quorum.log.write_snapshot(download.snapshot_id, download.position, response.data)
    write = WriteSnapshot(download.snapshot_id, download.position, response.data)
    quorum.outbox.put_write(write, quorum.log.end_offset)
    download.position += len(response.data)
    if download.position >= response.size_bytes:
        follower.download = None
        quorum.install_snapshot(download.snapshot_id)
