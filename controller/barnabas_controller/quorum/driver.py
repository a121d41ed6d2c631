"""Drives one node of the quorum: the pure core, its disk, its links and its state machine.

Every event reaches the core through `_step`, which does at once what comes out of it: writes go to
the `DiskWriter`, requests to `RaftCalls`, answers to whoever waits for them, what is committed and
who leads to the state machine, by way of `Leadership`. Appends gather until the end of the loop's
turn, or until the next event, so that many of them share one batch of work: whatever the core does
next, it finds them in its log.

Time, chance, disk, threads and network are passed in, and nothing here waits without a bound.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from barnabas_controller.quorum.applier import Applier
from barnabas_controller.quorum.committed_log import CommittedLog
from barnabas_controller.quorum.disk_writer import DiskTools, DiskWriter, WriteJob
from barnabas_controller.quorum.leadership import Leadership, ReportParts
from barnabas_controller.quorum.listener import QuorumListener
from barnabas_controller.quorum.membership import bootstrap_addresses, node_setup
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_controller.quorum.opening import metadata_path, open_metadata
from barnabas_controller.quorum.pending_answers import PendingAnswers
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_controller.quorum.raft_calls import CallEvents, RaftCalls
from barnabas_controller.quorum.raft_service import RaftService
from barnabas_controller.quorum.snapshotter import SnapshotParts, Snapshotter
from barnabas_core.ports import Buffer, Clock, Disk, Executor, Rng
from barnabas_core.ports.link import Address, Links
from barnabas_core.raft import (
    CLIENT,
    LinkLost,
    Message,
    NodeId,
    NotLeader,
    Persisted,
    RaftNode,
    Ready,
    Resign,
    SnapshotId,
    SnapshotTaken,
)
from barnabas_core.raft.description import QuorumDescription
from barnabas_core.raft.event import Event
from barnabas_core.raft.internal_address import internal_address
from barnabas_core.raft.message import (
    LeaderNews,
    Request,
    Response,
    VoterChangeResponse,
    VoterRequest,
)
from barnabas_core.raft.quorum_state import QUORUM_STATE_FILE, encode_quorum_state
from barnabas_core.raft.wire_mapping import WireMapping, with_correlation
from barnabas_core.wire.error_code import ErrorCode

_HAND_OVER_MS = 500
_ANSWER_SLACK_MS = 1_000
_NO_LEADER = LeaderNews(0, None)


@dataclass(frozen=True, slots=True)
class QuorumPorts:
    """What touches the world."""

    disk: Disk
    executor: Executor
    clock: Clock
    rng: Rng
    links: Links


@dataclass(frozen=True, slots=True)
class _Parts:
    """What exists once the disk has been opened."""

    node: RaftNode
    log: MetadataLog
    writer: DiskWriter
    applier: Applier
    committed_log: CommittedLog
    leadership: Leadership


class QuorumDriver:
    def __init__(
        self,
        config: QuorumConfig,
        ports: QuorumPorts,
        listener: QuorumListener,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._config = config
        self._ports = ports
        self._tools = DiskTools(ports.disk, ports.executor, ports.clock)
        self._listener = listener
        self._on_fatal = on_fatal
        raft = config.raft
        mapping = WireMapping(
            cluster_id=config.cluster_id,
            port_offset=config.internal_port_offset,
            change_timeout_ms=raft.request_timeout_ms,
        )
        self._bootstrap = bootstrap_addresses(config)
        events = CallEvents(self._address_of, self._on_answer, self._on_lost, self._fail)
        self._calls = RaftCalls(ports.links, mapping, raft.request_timeout_ms, events)
        self._answers = PendingAnswers()
        answer_ms = raft.fetch_max_wait_ms + raft.request_timeout_ms + _ANSWER_SLACK_MS
        self.raft_service = RaftService(self, mapping, answer_ms)
        self._parts: _Parts | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0
        self._is_over = False

    # --- life

    async def start(self) -> None:
        """Open the disk and take part. Raises what is wrong with the directory."""
        config, ports = self._config, self._ports
        opened = await ports.executor.in_thread(
            lambda: open_metadata(ports.disk, ports.rng, config, ports.clock.now_ms())
        )
        log = MetadataLog(opened, ports.clock)
        setup, now_ms = node_setup(config, self._bootstrap), ports.clock.monotonic_ms()
        node = RaftNode(setup, log, opened.hard_state, ports.rng, now_ms)
        state_path = f"{metadata_path(config)}/{QUORUM_STATE_FILE}"
        writer = DiskWriter(log, self._tools, state_path, self._on_persisted)
        snapshotter = Snapshotter(
            SnapshotParts(node, log, self._listener, self._tools, config, self._on_log_start)
        )
        applier = Applier(log, self._listener, ports.clock, snapshotter.note, self._on_caught_up)
        committed_log = CommittedLog(node, log)
        reports = ReportParts(node, log, self._listener, applier, snapshotter, committed_log)
        leadership = Leadership(reports, config.batch_bytes_max)
        self._parts = _Parts(node, log, writer, applier, committed_log, leadership)
        snapshot = log.snapshot()
        if snapshot is not None:
            applier.load(snapshot.id)
        for run in (writer.run, applier.run, snapshotter.run):
            task = asyncio.get_running_loop().create_task(run())
            task.add_done_callback(self._on_task_done)
            self._tasks.append(task)
        with self._deadly():
            self._pump(self._parts)

    async def stop(self) -> None:
        """Hand leadership over, make everything durable, and leave."""
        parts = self._parts
        if parts is None or self._is_over:
            return
        quorum = parts.node.quorum
        if quorum.leader is not None and len(quorum.history.voters) > 1:
            self._step(Resign(quorum.epoch))
            # Not so long that it would stand again itself.
            raft = self._config.raft
            await self._calls.drain(min(_HAND_OVER_MS, raft.election_timeout_ms // 2))
        await parts.writer.drain(self._config.raft.request_timeout_ms)
        self._end()
        await self._calls.close()
        for task in self._tasks:
            await _see_end(task)
        now_ms = self._ports.clock.now_ms()
        await self._ports.executor.in_thread(lambda: parts.log.partition_log.close(now_ms))

    def abandon(self) -> None:
        """Stop at once and touch nothing any more: what a crash would do."""
        if self._parts is not None and not self._is_over:
            self._end()
            self._calls.cancel()
            self._parts.log.partition_log.go_offline("abandoned")

    async def close_links(self) -> None:
        """After `abandon`: it does not wait."""
        await self._calls.close()

    def _end(self) -> None:
        self._is_over = True
        self._started.leadership.end()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._answers.refuse_all()

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """The disk is lost or an invariant broken: this node must not go on."""
        if not self._is_over:
            self.abandon()
            self._on_fatal(error)

    @contextmanager
    def _deadly(self) -> Iterator[None]:
        """Around whatever changes the core: what it raises leaves it in no known state."""
        try:
            yield
        except BaseException as error:
            self._fail(error)
            raise

    # --- what others ask

    @property
    def _started(self) -> _Parts:
        assert self._parts is not None, "the driver was started"
        return self._parts

    @property
    def node(self) -> RaftNode:
        return self._started.node

    @property
    def committed_log(self) -> CommittedLog:
        return self._started.committed_log

    @property
    def is_active(self) -> bool:
        return self._parts is not None and self._parts.leadership.active_epoch is not None

    @property
    def leader(self) -> LeaderNews:
        """With the endpoints in the leader's voters record, if it has one."""
        return _NO_LEADER if self._parts is None else self._parts.leadership.leader

    @property
    def last_leader_id(self) -> int | None:
        """Who leads, or did before the present lack of a leader."""
        return self._started.leadership.last_leader_id

    @property
    def high_watermark(self) -> int:
        return self._started.node.quorum.high_watermark

    @property
    def end_offset(self) -> int:
        """Where the next append goes."""
        return self._started.leadership.end_offset

    def describe(self) -> QuorumDescription | None:
        """None unless this node leads. Times are wall time."""
        found = self._started.node.describe()
        if found is None:
            return None
        ahead_ms = self._ports.clock.now_ms() - self._ports.clock.monotonic_ms()
        return found.shifted(ahead_ms)

    async def admin(self, request: VoterRequest) -> VoterChangeResponse:
        """A change of the voters, as an administrator asks for it; answered in any case."""
        correlation = self.open_request()
        wanted = with_correlation(request, correlation)
        try:
            response = await self.ask(wanted, request.timeout_ms + _ANSWER_SLACK_MS)
        except TimeoutError:
            reason = "the change may still be committed"
            return VoterChangeResponse(
                request.correlation, ErrorCode.REQUEST_TIMED_OUT, self.leader, reason
            )
        assert isinstance(response, VoterChangeResponse), "voters requests have voters answers"
        return replace(response, correlation=request.correlation)

    def append(self, epoch: int, batches: Sequence[Sequence[Buffer]], now_ms: int) -> int:
        """Metadata records, a batch for each inner sequence; the offset after the last.

        They are committed when `on_committed` passes that offset. `epoch` is the one `on_active`
        named: `NotLeader` if this node is not active in it any more.
        """
        if self._parts is None:
            raise NotLeader(_NO_LEADER)
        leadership = self._parts.leadership
        is_first = not leadership.has_appends
        end_offset = leadership.append(epoch, batches, now_ms)
        if is_first:
            asyncio.get_running_loop().call_soon(self._on_turn_end)
        return end_offset

    # --- what peers ask

    def open_request(self) -> int:
        return self._answers.open()

    def drop_request(self, correlation: int) -> None:
        self._answers.drop(correlation)

    async def ask(self, request: Request, timeout_ms: int) -> Response:
        if self._parts is None or self._is_over:
            self._answers.refuse_all()
        else:
            self._step(Message(CLIENT, NodeId(self._config.node_id), request))
        return await self._answers.wait(request.correlation, timeout_ms)

    # --- events

    def _step(self, event: Event | None = None) -> None:
        """None: only time has passed."""
        if self._is_over:
            return
        parts = self._started
        with self._deadly():
            parts.leadership.flush_appends()
            parts.node.tick(self._ports.clock.monotonic_ms())
            if event is not None:
                parts.node.step(event)
            self._pump(parts)

    def _on_timer(self) -> None:
        self._timer = None
        self._step()

    def _on_turn_end(self) -> None:
        parts = self._started
        if not self._is_over and parts.leadership.has_appends:
            with self._deadly():
                parts.leadership.flush_appends()
                self._pump(parts)

    def _on_caught_up(self) -> None:
        self._started.leadership.maybe_activate()

    def _on_persisted(self, sequence: int) -> None:
        self._step(Persisted(sequence))
        self._started.applier.look_again()

    def _on_answer(self, source: NodeId, response: Response) -> None:
        self._step(Message(source, NodeId(self._config.node_id), response))

    def _on_lost(self, target: NodeId) -> None:
        self._step(LinkLost(target))

    def _on_log_start(self, snapshot_id: SnapshotId) -> None:
        self._step(SnapshotTaken(snapshot_id))

    # --- what comes out

    def _pump(self, parts: _Parts) -> None:
        while parts.node.has_ready:
            self._do(parts, parts.node.take_ready())
        self._arm(parts.node)

    def _do(self, parts: _Parts, ready: Ready) -> None:
        if ready.must_persist:
            parts.writer.submit(self._write_job(parts, ready))
        for message in ready.messages:
            self._send(message)
        parts.leadership.report(ready)

    def _write_job(self, parts: _Parts, ready: Ready) -> WriteJob:
        writes = parts.log.take_writes()
        assert len(writes) == len(ready.log_writes), "the log staged what the core asked for"
        state: bytes | None = None
        if ready.hard_state is not None:
            history = parts.node.quorum.history
            state = encode_quorum_state(ready.hard_state, history.kraft_version, history.voters.ids)
        return WriteJob(ready.sequence, state, writes)

    def _send(self, message: Message) -> None:
        body = message.body
        if isinstance(body, Request):
            self._calls.send(message.target, body)
        else:
            assert message.target == CLIENT, "every request came in under our own correlation"
            self._answers.resolve(body)

    def _address_of(self, target: NodeId) -> Address | None:
        if target in self._bootstrap:
            return self._bootstrap[target]
        endpoints = self._started.node.endpoints_of(target)
        return internal_address(endpoints, self._config.internal_port_offset)

    def _arm(self, node: RaftNode) -> None:
        at_ms = node.deadline_ms()
        if self._timer is not None:
            if self._timer_at_ms == at_ms:
                return
            self._timer.cancel()
        # One more: the present millisecond has begun already.
        delay_ms = max(at_ms - self._ports.clock.monotonic_ms(), 0) + 1
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._on_timer)
        self._timer_at_ms = at_ms


async def _see_end(task: asyncio.Task[None]) -> None:
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise
