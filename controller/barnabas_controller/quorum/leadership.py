"""What the state machine is told: who leads, what is committed, and whether this node is active.

A node that leads is active once all that is committed, and something of its own epoch, is applied:
then its state machine knows everything that it has to decide on. It takes appends from there on,
until it leads no more or leads in another epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from barnabas_controller.quorum.append_buffer import AppendBuffer
from barnabas_controller.quorum.applier import Applier
from barnabas_controller.quorum.committed_log import CommittedLog
from barnabas_controller.quorum.listener import QuorumListener
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_controller.quorum.snapshotter import Snapshotter
from barnabas_core.ports import Buffer
from barnabas_core.raft import NotLeader, RaftNode, Ready
from barnabas_core.raft.message import LeaderNews


@dataclass(frozen=True, slots=True)
class ReportParts:
    """Whom reports are about, and whom they go to."""

    node: RaftNode
    log: MetadataLog
    listener: QuorumListener
    applier: Applier
    snapshotter: Snapshotter
    committed_log: CommittedLog


class Leadership:
    def __init__(self, parts: ReportParts, batch_bytes_max: int) -> None:
        self._parts = parts
        self._appends = AppendBuffer(batch_bytes_max)
        self._leader = LeaderNews(0, None)
        self._is_over = False
        self.active_epoch: int | None = None
        self.last_leader_id: int | None = None
        """Who leads, or did before the present lack of a leader."""

    @property
    def leader(self) -> LeaderNews:
        """With the endpoints in the leader's voters record, if it has one."""
        if self._leader.leader_id is None:
            return self._leader
        endpoints = self._parts.node.endpoints_of(self._leader.leader_id)
        return replace(self._leader, endpoints=endpoints or self._leader.endpoints)

    @property
    def end_offset(self) -> int:
        """Where the next append goes."""
        return self._parts.log.end_offset + self._appends.record_count

    @property
    def has_appends(self) -> bool:
        """Some that the core has not got yet."""
        return bool(self._appends)

    def append(self, epoch: int, batches: Sequence[Sequence[Buffer]], now_ms: int) -> int:
        """The offset after the last; `NotLeader` unless active in this epoch."""
        if self.active_epoch != epoch:
            raise NotLeader(self.leader)
        return self._appends.add(self.end_offset, epoch, batches, now_ms)

    def flush_appends(self) -> None:
        """Before anything else happens to the core: it led when they were taken, so it does now."""
        if self._appends:
            node = self._parts.node
            node.append(node.quorum.epoch, self._appends.take())

    # --- reports

    def report(self, ready: Ready) -> None:
        """To the state machine, in the order in which it happened."""
        parts = self._parts
        if self.active_epoch is not None:
            self._report_active(self.active_epoch)
        if ready.leader is not None:
            self._leader = ready.leader
            if ready.leader.leader_id is not None:
                self.last_leader_id = ready.leader.leader_id
            parts.listener.on_leader(self.leader)
        if ready.snapshot_id is not None:
            parts.applier.load(ready.snapshot_id)
        if ready.high_watermark is not None:
            parts.applier.advance(parts.node.quorum.high_watermark)
            parts.committed_log.on_moved()
        self.maybe_activate()

    def _report_active(self, epoch: int) -> None:
        parts, quorum = self._parts, self._parts.node.quorum
        high_watermark = quorum.high_watermark
        if high_watermark > parts.applier.applied_offset:
            # Nothing was cut off since it was appended here: only followers truncate.
            parts.applier.applied_offset = high_watermark
            parts.snapshotter.note(self._appends.on_committed(high_watermark))
            parts.listener.on_committed(high_watermark)
        if quorum.leader is None or quorum.epoch != epoch:
            self.active_epoch = None
            self._appends.forget()
            parts.applier.is_active = False
            parts.listener.on_inactive()

    def maybe_activate(self) -> None:
        if self._is_over or self.active_epoch is not None:
            return
        parts, quorum = self._parts, self._parts.node.quorum
        leader = quorum.leader
        if leader is None or not leader.has_committed(quorum) or not parts.applier.is_caught_up:
            return
        if parts.applier.applied_offset != quorum.high_watermark:
            return
        self.active_epoch = quorum.epoch
        parts.applier.is_active = True
        parts.listener.on_active(quorum.epoch, parts.log.end_offset)

    def end(self) -> None:
        """The node leaves, whatever was under way; nothing is reported after this."""
        self._is_over = True
        if self.active_epoch is not None:
            self.active_epoch = None
            self._parts.listener.on_inactive()
