"""The controller's state machine: requests become records, committed records become state.

Standby: committed batches are replayed into `committed`. Active: a decision reads `latest`, which
is `committed` plus what was appended since; its records are replayed into the next image, appended
to the quorum's log, and its answer waits until they are committed. Images never change, so
resigning is to drop `latest` and the answers that wait: nothing has to be undone.

A decision without records read what may still be pending, so its answer waits for that too: no
answer is ever ahead of what is durable.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from barnabas_controller.managers.liveness import BrokerLiveness
from barnabas_controller.managers.replica_index import ReplicaIndex
from barnabas_controller.managers.view import ControllerSettings, QuorumFacts, Result, View
from barnabas_controller.quorum.listener import SnapshotSource
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.metadata.record import encode_record
from barnabas_core.metadata.snapshot import encode_at_level, record_batches
from barnabas_core.ports import Clock, Rng
from barnabas_core.ports.link import CallFailed, LinkFull, NotActive
from barnabas_core.raft import NotLeader, SnapshotId
from barnabas_core.raft.message import LeaderNews
from barnabas_core.wire.messages.abort_transaction_record import AbortTransactionRecord
from barnabas_core.wire.schema import Message

R = TypeVar("R")
_WAITING_COUNT_MAX: Final = 20_000
_LOST_PLACE: Final = "another controller took over before the change was known to be committed"


class Appender(Protocol):
    """The leader's end of the quorum's log."""

    @property
    def end_offset(self) -> int:
        """Where the next record goes; the quorum appends records of its own, too."""
        ...

    def append(self, epoch: int, batches: Sequence[Sequence[bytes]], now_ms: int) -> int:
        """The offset after the last record; `NotLeader`."""
        ...


class _Waiting(NamedTuple):
    depends_on: int
    answer: "asyncio.Future[Any]"
    response: Any
    has_records: bool


@dataclass(slots=True)
class _Reign:
    """What lasts as long as this node is active."""

    epoch: int
    committed: Image
    replicas: ReplicaIndex
    liveness: BrokerLiveness
    appended_at_ms: int
    has_committed: bool = False
    """Something that this node appended."""
    images: deque[tuple[int, Image]] = field(default_factory=deque)
    """Appended and not committed: (end offset, image)."""
    waiting: deque[_Waiting] = field(default_factory=deque)


class Engine:
    """A `QuorumListener`."""

    def __init__(self, settings: ControllerSettings, clock: Clock, rng: Rng) -> None:
        self.settings = settings
        self._clock = clock
        self._rng = rng
        self._appender: Appender | None = None
        self._quorum_facts: Callable[[], QuorumFacts] = QuorumFacts
        self._loader = _loader(EMPTY_IMAGE)
        self._reign: _Reign | None = None
        self.on_reign: Callable[[bool], None] = lambda _: None
        """Called when this node becomes active, and when it ceases to be."""

    def attach(self, appender: Appender, quorum_facts: Callable[[], QuorumFacts]) -> None:
        """The driver is made after its listener."""
        self._appender = appender
        self._quorum_facts = quorum_facts

    # --- what it is asked

    @property
    def is_active(self) -> bool:
        return self._reign is not None

    @property
    def epoch(self) -> int:
        """Of the present reign; -1 while not active."""
        return -1 if self._reign is None else self._reign.epoch

    @property
    def committed(self) -> Image:
        if self._reign is not None:
            return self._reign.committed
        # Not after each batch: nobody looks at a standby's image in between.
        self._loader.publish()
        return self._loader.image

    @property
    def latest(self) -> Image:
        if self._reign is None or not self._reign.images:
            return self.committed
        return self._reign.images[-1][1]

    @property
    def idle_ms(self) -> int:
        """Since the last append of this reign."""
        if self._reign is None:
            return 0
        return self._clock.monotonic_ms() - self._reign.appended_at_ms

    @property
    def liveness(self) -> BrokerLiveness | None:
        return None if self._reign is None else self._reign.liveness

    @property
    def waiting_count(self) -> int:
        return 0 if self._reign is None else len(self._reign.waiting)

    def view(self) -> View:
        """`NotActive` unless this node is."""
        reign, appender = self._reign, self._appender
        if reign is None:
            raise NotActive
        assert appender is not None
        return View(
            self.latest,
            reign.replicas,
            reign.liveness,
            self.settings,
            self._rng,
            self._clock.now_ms(),
            self._clock.monotonic_ms(),
            appender.end_offset,
            self._quorum_facts(),
        )

    def submit(self, decide: Callable[[View], Result[R]]) -> "asyncio.Future[R]":
        """Decide now; the response comes when everything it rests on is committed.

        `NotActive` if this node does not decide. If it ceases to while the response waits, that
        comes from the future where nothing was to be changed, and `CallFailed` where it was: the
        records may yet be committed by the next leader. Whatever `decide` raises comes from here,
        with nothing changed.
        """
        view = self.view()
        reign = self._reign
        assert reign is not None
        if len(reign.waiting) >= _WAITING_COUNT_MAX:
            raise LinkFull("too many requests wait for the quorum")
        result = decide(view)
        if result.records:
            self._append(reign, result.records)
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if reign.images:
            depends_on = reign.images[-1][0]
            has_records = bool(result.records)
            reign.waiting.append(_Waiting(depends_on, answer, result.response, has_records))
        else:
            answer.set_result(result.response)
        return answer

    def _append(self, reign: _Reign, records: Sequence[Message]) -> None:
        latest, appender = self.latest, self._appender
        assert appender is not None
        values = [encode_at_level(record, latest.metadata_level) for record in records]
        delta = Delta(latest)
        for record in records:
            delta.replay(record)
        now_ms = self._clock.now_ms()
        end_offset = appender.end_offset + len(values)
        image = delta.apply(Provenance(end_offset - 1, reign.epoch, now_ms))
        # Only now: a record that does not fit the image must not be in the log.
        self._append_values(appender, reign, values, end_offset)
        reign.images.append((end_offset, image))
        reign.replicas.update(delta.topics, image.topics)

    def _append_values(
        self, appender: Appender, reign: _Reign, values: Sequence[bytes], end_offset: int
    ) -> None:
        try:
            appended = appender.append(reign.epoch, [values], self._clock.now_ms())
        except NotLeader as error:
            raise NotActive(error.news.leader_id) from error
        assert appended == end_offset, f"appended up to {appended}, not {end_offset}"
        reign.appended_at_ms = self._clock.monotonic_ms()

    # --- what the quorum tells

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        assert self._reign is None, "a leader never loads a snapshot"
        self._loader.on_snapshot_begin(snapshot_id)

    def on_batch(self, batch: CommittedBatch) -> None:
        assert self._reign is None, "what a leader appended is not handed to it"
        self._loader.on_batch(batch)

    def on_snapshot_end(self) -> None:
        self._loader.on_snapshot_end()

    def on_leader(self, news: LeaderNews) -> None:
        """Who leads is asked of the driver."""

    def on_active(self, epoch: int, end_offset: int) -> None:
        """Everything before `end_offset` is committed and replayed: decide from here on."""
        assert self._reign is None
        now_ms = self._clock.monotonic_ms()
        in_transaction = self._loader.in_transaction
        image = self.committed
        liveness = BrokerLiveness(self.settings.broker_session_timeout_ms)
        liveness.restart(image, now_ms)
        replicas = ReplicaIndex(image.topics)
        self._reign = _Reign(epoch, image, replicas, liveness, now_ms)
        if in_transaction:
            # Another release's controller died within it: nobody else can end it (KIP-868).
            self._abort_transaction(self._reign)
        self.on_reign(True)

    def _abort_transaction(self, reign: _Reign) -> None:
        appender = self._appender
        assert appender is not None
        abort = AbortTransactionRecord(reason="the controller changed")
        # Whatever the level: a first transaction is open before there is one.
        value = encode_record(abort, 0)
        end_offset = appender.end_offset + 1
        self._append_values(appender, reign, [value], end_offset)

    def on_committed(self, end_offset: int) -> None:
        reign = self._reign
        assert reign is not None, "only what this node appended is told this way"
        reign.has_committed = True
        while reign.images and reign.images[0][0] <= end_offset:
            reign.committed = reign.images.popleft()[1]
        if reign.committed.provenance.offset < end_offset - 1:
            # Records of the quorum's own, which change nothing here but the offset.
            at = Provenance(end_offset - 1, reign.epoch, reign.committed.provenance.append_at_ms)
            reign.committed = replace(reign.committed, provenance=at)
        while reign.waiting and reign.waiting[0].depends_on <= end_offset:
            waiting = reign.waiting.popleft()
            if not waiting.answer.done():
                waiting.answer.set_result(waiting.response)

    def on_inactive(self) -> None:
        """What was not committed may be yet, by another leader: then it comes as a batch."""
        reign, self._reign = self._reign, None
        assert reign is not None
        if reign.has_committed:
            self._loader = _loader(reign.committed)
        for waiting in reign.waiting:
            if not waiting.answer.done():
                lost = CallFailed(_LOST_PLACE) if waiting.has_records else NotActive()
                waiting.answer.set_exception(lost)
        self.on_reign(False)

    def begin_snapshot(self) -> SnapshotSource | None:
        image = self.committed
        at = image.provenance
        if at.offset < 0:
            return None
        return SnapshotSource(at.offset + 1, at.append_at_ms, record_batches(image))


def _loader(image: Image) -> MetadataLoader:
    return MetadataLoader(lambda _delta, _image: None, image, every_batch=False)
