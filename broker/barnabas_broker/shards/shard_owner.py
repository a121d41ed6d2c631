"""A shard that this broker owns: its session with a coordinator, and who waits for answers.

    CLOSED ──a coordinator is there──> LOADING ──its log is replayed there──> OPEN
      ^                                   │ stream lost, wrong offset            │
      └───────────────────────────────────┴──────────────────────────────────────┘

While a session is open only its outcomes are appended, each at the offset that it names. An answer
is given when the high watermark has passed what it depends on; those of outcomes that were appended
before a session ended are given all the same.

An owner lasts as long as its broker leads, over any number of leader epochs: nobody else has
written to the log in between. The coordinator is told of each, and whether records can be written.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas_broker.partitions.partition import ALL_IN_SYNC, Partition
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.replication.chunk_reader import read_chunk
from barnabas_broker.shards.awaited_answers import AwaitedAnswers
from barnabas_broker.shards.coordinator_stream import CoordinatorStream
from barnabas_core.links.shard_message import (
    Close,
    Committed,
    Epoch,
    Load,
    Lost,
    Open,
    Outcome,
    ShardRequest,
    Writable,
)
from barnabas_core.log.error import AppendError, LogError
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import Buffer, Clock, DiskError, Executor
from barnabas_core.records.batch import split_batches
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.error_code import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

_LOAD_BYTES: Final = 1024 * 1024
_WAITING_COUNT_MAX: Final = 10_000


class Phase(Enum):
    CLOSED = "closed"
    LOADING = "loading"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class OwnerParts:
    writer: TurnWriter
    clock: Clock
    executor: Executor
    log: EventLog
    commit_timeout_s: float
    """How long an answer waits for its records to be committed: `offsets.commit.timeout.ms`."""
    metadata_offset: "Callable[[], int]"
    """Of what is applied here."""


class Waiting:
    """A request on its way: `done` is called once, with the answer or with an error."""

    __slots__ = ("done",)

    def __init__(self, done: "Callable[[bytes | ErrorCode], None]") -> None:
        self.done = done


class _Told(NamedTuple):
    high_watermark: int
    leader_epoch: int
    is_writable: bool


class ShardOwner:
    """Lasts as long as this broker leads the partition."""

    def __init__(self, partition: Partition, on: OwnerParts) -> None:
        assert partition.leadership is not None
        self.partition = partition
        self._on = on
        self._stream: CoordinatorStream | None = None
        self._session = 0
        self._correlation = 0
        self._asked: dict[int, Waiting] = {}
        """Not answered by the coordinator yet."""
        self._awaited = AwaitedAnswers(partition, on.commit_timeout_s)
        """Answered, and waiting for the high watermark."""
        self._told = _Told(0, partition.leader_epoch, is_writable=True)
        """What the coordinator knows."""
        self.phase = Phase.CLOSED

    @property
    def name(self) -> str:
        return f"{self.partition.log.topic}-{self.partition.log.partition}"

    @property
    def is_current(self) -> bool:
        return self.partition.is_leader and not self.partition.log.is_offline

    @property
    def is_writable(self) -> bool:
        """Whether as many replicas are in sync as must be."""
        return self.partition.check_append(ALL_IN_SYNC) is ErrorCode.NONE

    @property
    def is_busy(self) -> bool:
        """Somebody waits for an answer."""
        return bool(self._asked)

    # --- the session

    async def open(self, stream: CoordinatorStream) -> None:
        """Lease it to the coordinator at the other end, and send all that it must know."""
        log = self.partition.log
        self.phase = Phase.LOADING
        while log.staged_end_offset > log.log_end_offset and self.is_current:
            # Outcomes of the session before this one.
            await self._on.writer.when_idle(self.partition)
            await asyncio.sleep(0)
        if not self.is_current:
            return
        self._stream = stream
        session = self._session = stream.open(self)
        log_end, epoch = log.staged_end_offset, self.partition.leader_epoch
        self._told = _Told(log.high_watermark, epoch, is_writable=True)
        metadata_offset = self._on.metadata_offset()
        stream.send(
            Open(session, log.partition, epoch, log_end, log.high_watermark, metadata_offset)
        )
        self._tell(stream)
        try:
            await self._send_log(stream, session, log_end)
        except (LogError, DiskError) as error:
            self._on.log.warning("a shard cannot be loaded", of=self.name, reason=str(error))
            if self._session == session:
                self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def _send_log(self, stream: CoordinatorStream, session: int, log_end: int) -> None:
        log = self.partition.log
        offset = log.log_start_offset
        while offset < log_end and self._session == session:
            chunk = await read_chunk(log, offset, _LOAD_BYTES, self._on.executor)
            following = _next_offset(chunk, offset)
            if following == offset:
                break
            offset = following
            await stream.wait_for_room()
            if self._session != session:
                return
            stream.send(Load(session, chunk))
        stream.send(Load(session, b""))

    def on_metadata(self) -> None:
        """The epoch, who is in sync or how many must be may have changed."""
        if self._stream is not None:
            self._tell(self._stream)
        self._awaited.go_on()

    def _tell(self, stream: CoordinatorStream) -> None:
        partition, told = self.partition, self._told
        now = _Told(partition.high_watermark, partition.leader_epoch, self.is_writable)
        if now == told:
            return
        self._told = now
        if now.leader_epoch != told.leader_epoch:
            stream.send(Epoch(self._session, now.leader_epoch))
        if now.is_writable != told.is_writable:
            stream.send(Writable(self._session, now.is_writable))
        if now.high_watermark != told.high_watermark:
            stream.send(Committed(self._session, now.high_watermark))

    def on_loaded(self) -> None:
        self.phase = Phase.OPEN

    def on_stream_lost(self) -> None:
        self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def end(self, error: ErrorCode) -> None:
        """The session is over; what is appended already is answered when it is committed."""
        if self._stream is not None:
            self._stream.forget(self._session)
            self._stream.send(Close(self._session))
        self._stream = None
        self._session = 0
        self.phase = Phase.CLOSED
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            waiting.done(error)
        if not self.is_current:
            self._awaited.give_up()

    # --- requests

    def ask(self, request: ShardRequest, waiting: Waiting) -> int | None:
        """`request` without session and correlation; the correlation, None if it was refused."""
        stream = self._stream
        if not self.is_current:
            waiting.done(ErrorCode.NOT_COORDINATOR)
        elif self.phase is Phase.LOADING:
            waiting.done(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        elif stream is None or stream.is_full or len(self._asked) >= _WAITING_COUNT_MAX:
            waiting.done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            self._tell(stream)
            self._correlation += 1
            self._asked[self._correlation] = waiting
            stream.send(request._replace(session=self._session, correlation=self._correlation))
            return self._correlation
        return None

    def forget(self, correlation: int) -> None:
        """The client is gone; what is decided for it stands."""
        if self._asked.pop(correlation, None) is not None and self._stream is not None:
            self._stream.send(Lost(self._session, correlation))

    # --- outcomes

    def on_outcome(self, outcome: Outcome) -> None:
        if outcome.session != self._session:
            return
        if not self.is_current:
            self.end(ErrorCode.NOT_COORDINATOR)
            return
        if len(outcome.batches) and not self._append(outcome):
            self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        for answer in outcome.answers:
            waiting = self._asked.pop(answer.correlation, None)
            if waiting is not None and answer.error_code:
                waiting.done(ErrorCode(answer.error_code))
            elif waiting is not None:
                self._awaited.add(waiting, answer)

    def _append(self, outcome: Outcome) -> bool:
        log = self.partition.log
        if outcome.base_offset != log.staged_end_offset:
            self._on.log.warning(
                "a coordinator is at another offset than its shard",
                shard=self.name,
                expected=log.staged_end_offset,
                found=outcome.base_offset,
            )
            return False
        try:
            log.stage(
                bytearray(outcome.batches),
                leader_epoch=self.partition.leader_epoch,
                origin=AppendOrigin.COORDINATOR,
                now_ms=self._on.clock.now_ms(),
            )
        except (AppendError, LogError) as error:
            self._on.log.warning("a coordinator's records were refused", reason=str(error))
            return False
        self._on.writer.mark(self.partition)
        return True


def _next_offset(chunk: Buffer, offset: int) -> int:
    last = offset
    for _, header in split_batches(chunk, allow_partial_tail=True):
        last = header.next_offset
    return last
