"""What a node wants done, and what has to wait for the disk.

The outbox numbers each `Ready` that has something to persist. A message may leave only when the
epoch and vote that it was sent under are durable; until then it is withheld here, so a driver can
send whatever it is handed.
"""

from dataclasses import dataclass
from typing import TypeAlias

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.message import LeaderNews, Message
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.raft.record import Batch


@dataclass(frozen=True, slots=True)
class HardState:
    """Kafka's quorum-state file: what must never be forgotten or go back."""

    epoch: int = 0
    leader_id: NodeId | None = None
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class Append:
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    end_offset: int


@dataclass(frozen=True, slots=True)
class WriteSnapshot:
    snapshot_id: SnapshotId
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class DeleteBefore:
    snapshot_id: SnapshotId


LogWrite: TypeAlias = Append | Truncate | WriteSnapshot | InstallSnapshot | DeleteBefore


@dataclass(frozen=True, slots=True)
class Ready:
    """Work for the driver, in field order: persist, send, then tell the state machine.

    The log writes are already staged in the log that the node was given; they are named here in
    the order in which they must become durable. When `hard_state` and `log_writes` are, the driver
    steps `Persisted(sequence)`; the messages need not wait for it.
    """

    sequence: int
    hard_state: HardState | None
    log_writes: tuple[LogWrite, ...]
    messages: tuple[Message, ...]
    snapshot_id: SnapshotId | None
    """Load this snapshot into the state machine before anything from `high_watermark`."""
    high_watermark: int | None
    """Set when it moved: the records before it are committed."""
    leader: LeaderNews | None
    """Set when the epoch or its leader changed."""

    @property
    def must_persist(self) -> bool:
        return self.hard_state is not None or bool(self.log_writes)


class Outbox:
    __slots__ = (
        "_hard_sequence",
        "_hard_state",
        "_log_sequence",
        "_marks",
        "_messages",
        "_persisted",
        "_sequence",
        "_withheld",
        "_writes",
        "durable_end_offset",
    )

    def __init__(self, end_offset: int) -> None:
        self.durable_end_offset = end_offset
        self._sequence = 1
        self._persisted = 0
        self._hard_sequence = 0
        self._log_sequence = 0
        self._hard_state: HardState | None = None
        self._writes: list[LogWrite] = []
        self._marks: list[tuple[int, int]] = []
        self._messages: list[Message] = []
        self._withheld: list[tuple[int, Message]] = []

    @property
    def is_empty(self) -> bool:
        return not (self._messages or self._writes or self._hard_state)

    @property
    def hard_state_is_durable(self) -> bool:
        return self._hard_sequence <= self._persisted

    @property
    def is_durable(self) -> bool:
        """Is everything on disk that was staged so far?"""
        return self._persisted >= self._hard_sequence and self._persisted >= self._log_sequence

    def put_hard_state(self, hard_state: HardState) -> None:
        self._hard_state = hard_state
        self._hard_sequence = self._sequence

    def put_write(self, write: LogWrite, end_offset: int) -> None:
        """Note a staged log write and where the log ends after it."""
        self._writes.append(write)
        self._log_sequence = self._sequence
        if end_offset < self.durable_end_offset:
            self.durable_end_offset = end_offset
        self._marks = [(at, min(end, end_offset)) for at, end in self._marks]
        self._marks.append((self._sequence, end_offset))

    def send(self, message: Message) -> None:
        if self.hard_state_is_durable:
            self._messages.append(message)
        else:
            self._withheld.append((self._hard_sequence, message))

    def on_persisted(self, sequence: int) -> None:
        if not self._persisted < sequence < self._sequence:
            raise ValueError(f"nothing of sequence {sequence} was to be persisted")
        self._persisted = sequence
        while self._marks and self._marks[0][0] <= sequence:
            self.durable_end_offset = self._marks.pop(0)[1]
        still_withheld = []
        for after, message in self._withheld:
            if after <= sequence:
                self._messages.append(message)
            else:
                still_withheld.append((after, message))
        self._withheld = still_withheld

    def take(
        self, snapshot_id: SnapshotId | None, high_watermark: int | None, leader: LeaderNews | None
    ) -> Ready:
        ready = Ready(
            self._sequence,
            self._hard_state,
            tuple(self._writes),
            tuple(self._messages),
            snapshot_id,
            high_watermark,
            leader,
        )
        if ready.must_persist:
            self._sequence += 1
            self._hard_state = None
            self._writes.clear()
        self._messages.clear()
        return ready
