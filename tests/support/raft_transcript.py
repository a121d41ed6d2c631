"""What nodes say and do, one line each: the text of the scripted conversations."""

from barnabas_core.raft import NodeId, RaftNode, Ready, VoterSet
from barnabas_core.raft import message as m
from barnabas_core.raft.message import Body, LeaderNews
from barnabas_core.raft.ready import (
    Append,
    DeleteBefore,
    HardState,
    InstallSnapshot,
    LogWrite,
    Truncate,
    WriteSnapshot,
)
from barnabas_core.raft.record import Batch, KRaftVersionChange, LeaderChange, VotersChange
from barnabas_core.wire.error_code import ErrorCode


def lines_of(node: RaftNode, ready: Ready) -> list[str]:
    me = node.quorum.local.node_id
    lines = []
    if ready.leader is not None:
        lines.append(f"{me} is {node.quorum.state.name}, {_news(ready.leader)}")
    if ready.hard_state is not None:
        lines.append(f"{me} writes {_hard(ready.hard_state)}")
    lines += [f"{me} writes {_write(write)}" for write in ready.log_writes]
    lines += [
        f"{me} -> {_name(message.target)} {text_of(message.body)}" for message in ready.messages
    ]
    if ready.snapshot_id is not None:
        lines.append(f"{me} loads {_snapshot(ready.snapshot_id)}")
    if ready.high_watermark is not None:
        lines.append(f"{me} commits up to {ready.high_watermark}")
    return lines


def _name(node_id: NodeId) -> str:
    return "client" if node_id < 0 else str(node_id)


def _news(news: LeaderNews) -> str:
    leader = "no leader" if news.leader_id is None else f"leader {news.leader_id}"
    return f"epoch {news.epoch} {leader}"


def _hard(hard: HardState) -> str:
    voted = "none" if hard.voted is None else hard.voted.node_id
    leader = "none" if hard.leader_id is None else hard.leader_id
    return f"epoch={hard.epoch} voted={voted} leader={leader}"


def _snapshot(snapshot_id: tuple[int, int]) -> str:
    return f"snapshot {snapshot_id[0]}@{snapshot_id[1]}"


def _voters(voters: VoterSet) -> str:
    return ",".join(f"{one.node_id}.{one.key.directory_id[0]}" for one in voters)


def batch_text(batch: Batch) -> str:
    parts = []
    for control in batch.controls:
        if isinstance(control, LeaderChange):
            parts.append(f"leader={control.leader_id}")
        elif isinstance(control, VotersChange):
            parts.append(f"voters={_voters(control.voters)}")
        elif isinstance(control, KRaftVersionChange):
            parts.append(f"kraft.version={control.level}")
    text = " ".join(parts) or bytes(batch.payload).decode()
    return f"[{batch.base_offset}@{batch.epoch} {text}]"


def _write(write: LogWrite) -> str:
    if isinstance(write, Append):
        return " ".join(batch_text(batch) for batch in write.batches)
    if isinstance(write, Truncate):
        return f"truncate to {write.end_offset}"
    if isinstance(write, WriteSnapshot):
        return f"{_snapshot(write.snapshot_id)} from {write.position}: {len(write.data)} bytes"
    if isinstance(write, InstallSnapshot):
        return f"install {_snapshot(write.snapshot_id)}"
    assert isinstance(write, DeleteBefore)
    return f"delete before {_snapshot(write.snapshot_id)}"


def text_of(body: Body) -> str:
    if isinstance(body, m.FetchResponse):
        return _fetch_response(body)
    return _request(body) or _response(body)


def _request(body: Body) -> str:
    if isinstance(body, m.VoteRequest):
        kind = "PreVote" if body.pre_vote else "Vote"
        return f"{kind} epoch={body.epoch} end={body.end_offset}@{body.last_epoch}"
    if isinstance(body, m.FetchRequest):
        at = f"{body.fetch_offset}@{body.last_fetched_epoch}"
        return f"Fetch epoch={body.epoch} from={at} hw={body.high_watermark}"
    if isinstance(body, m.FetchSnapshotRequest):
        return f"FetchSnapshot {_snapshot(body.snapshot_id)} from={body.position}"
    return _rare_request(body)


def _rare_request(body: Body) -> str:
    if isinstance(body, m.BeginQuorumEpochRequest):
        return f"BeginQuorumEpoch epoch={body.epoch}"
    if isinstance(body, m.EndQuorumEpochRequest):
        return f"EndQuorumEpoch epoch={body.epoch} next={[int(one[0]) for one in body.successors]}"
    if isinstance(body, m.AddVoterRequest | m.RemoveVoterRequest | m.UpdateVoterRequest):
        name = type(body).__name__.removesuffix("Request")
        return f"{name} {body.voter.node_id}.{body.voter.directory_id[0]}"
    return ""


def _response(body: Body) -> str:
    name = type(body).__name__
    if isinstance(body, m.VersionsResponse | m.VersionsRequest | m.UpgradeVersionRequest):
        return name
    news = getattr(body, "news", None)
    error = getattr(body, "error", ErrorCode.NONE)
    parts = [name, "" if error is ErrorCode.NONE else error.name]
    if isinstance(body, m.VoteResponse):
        parts.append("granted" if body.granted else "refused")
    elif isinstance(body, m.FetchSnapshotResponse):
        parts.append(f"{body.position}+{len(body.data)} of {body.size_bytes}")
    elif isinstance(body, m.VoterChangeResponse) and body.reason:
        parts.append(f"({body.reason})")
    parts.append(_news(news) if isinstance(news, LeaderNews) else "")
    return " ".join(part for part in parts if part)


def _fetch_response(body: m.FetchResponse) -> str:
    if body.error is not ErrorCode.NONE:
        return f"FetchResponse {body.error.name} {_news(body.news)}"
    if body.diverging is not None:
        return f"FetchResponse diverging at {body.diverging.end_offset}@{body.diverging.epoch}"
    if body.snapshot_id is not None:
        return f"FetchResponse load {_snapshot(body.snapshot_id)}"
    batches = " ".join(batch_text(batch) for batch in body.batches) or "nothing"
    return f"FetchResponse hw={body.high_watermark} {batches}"
