"""One session: a shard that a broker has leased to this coordinator, from its loading to its end.

Loading is sliced, and so is deciding: whoever has waited longest is next, and after a few
milliseconds everybody else gets a turn. Deadlines are looked at only when all that has come is
decided, and when the broker has been heard of all the time: a cut link must not expire members that
did send heartbeats, nor must a coordinator that was stopped for a while.

While too few replicas are in sync, what would write is refused and the shard's time stands still;
afterwards every member has its full time, as after loading.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from barnabas_coordinator.session_jobs import SessionJobs
from barnabas_coordinator.shard.decision import Context, Env, Machine, Request
from barnabas_coordinator.shard.shard import NO_OFFSET, Shard, Turn
from barnabas_coordinator.shard.shard_time import ShardTime
from barnabas_core.links.shard_message import (
    ENDED_PUSH,
    LOADED_PUSH,
    OUTCOME_PUSH,
    Load,
    Open,
    Outcome,
    ShardAnswer,
    ShardRequest,
    encode_outcome,
    encode_session,
)
from barnabas_core.metadata.image import Image
from barnabas_core.ports import Clock, Executor, Rng
from barnabas_core.ports.link import Caller, LinkBroken
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.histogram import Histogram
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode

_TURN_COUNT_MAX: Final = 64
_SLICE_MS: Final = 5
_LOAD_BYTES_MAX: Final = 4 * 1024 * 1024
_IMAGE_WAIT_S: Final = 2.0
_CATCH_UP_S: Final = 5.0
_IN_TOUCH_MS: Final = 1_000
_LISTEN_S: Final = 0.1
"""How often deadlines that have come are looked at again while the broker is out of touch."""


@dataclass(frozen=True, slots=True)
class SessionParts:
    make_machine: Callable[[], Machine]
    image: Callable[[], Image]
    """The newest that this coordinator has."""
    clock: Clock
    rng: Rng
    executor: Executor
    log: EventLog
    load_times: Histogram = field(default_factory=Histogram)


class Session:
    """Run `run` as a task; items are put into it in the order in which they come."""

    def __init__(self, opened: Open, caller: Caller, on: SessionParts) -> None:
        self.id = opened.session
        self.partition = opened.partition
        self.leader_epoch = opened.leader_epoch
        self._caller = caller
        self._on = on
        self._shard = Shard(on.make_machine(), opened.log_end)
        self._shard.on_committed(opened.high_watermark)
        self._image = on.image()
        self._metadata_offset = opened.metadata_offset
        self._loads: deque[Load] = deque()
        self._requests: deque[ShardRequest] = deque()
        self._versions: dict[int, int] = {}
        """Of the requests that wait for an answer, by call."""
        self._has_work = asyncio.Event()
        self._time = ShardTime()
        self._timer: asyncio.TimerHandle | None = None
        self._jobs = SessionJobs(on.executor, self._has_work.set)
        self._load_bytes = 0
        self._has_room = asyncio.Event()
        self.is_loaded = False
        self.is_over = False
        self._opened_ns = on.clock.monotonic_ns()

    @property
    def machine(self) -> Machine:
        return self._shard.machine

    # --- what comes

    def put(self, item: Load | ShardRequest) -> None:
        if isinstance(item, Load):
            self._loads.append(item)
            self._load_bytes += len(item.batches)
        else:
            self._requests.append(item)
        self._has_work.set()

    async def wait_for_room(self) -> None:
        """Whoever sends the log is held up here, and with it the broker's next feed."""
        while self._load_bytes > _LOAD_BYTES_MAX and not self.is_over:
            self._has_room.clear()
            await self._has_room.wait()

    def on_committed(self, high_watermark: int) -> None:
        self._shard.on_committed(high_watermark)

    def on_writable(self, is_writable: bool) -> None:  # noqa: FBT001 - as it was sent
        now_ms = self._on.clock.monotonic_ms()
        if not is_writable:
            self._time.stop(now_ms)
        elif self._time.stands:
            self._time.go_on(now_ms)
            if self.is_loaded:  # else loading will arm them
                # Before anything expires: a heartbeat that was refused was a sign of life, too.
                self._shard.machine.on_writable(self._env())
            self._has_work.set()

    def on_epoch(self, leader_epoch: int) -> None:
        self.leader_epoch = leader_epoch

    def on_lost(self, correlation: int) -> None:
        if self._versions.pop(correlation, None) is not None:
            self._shard.machine.on_call_lost(correlation)

    def on_image(self) -> None:
        self._has_work.set()

    def close(self) -> None:
        self.is_over = True
        self._has_work.set()
        self._has_room.set()
        if self._timer is not None:
            self._timer.cancel()
        self._jobs.cancel()

    # --- what is done

    async def run(self) -> None:
        try:
            await self._load()
            if self.is_loaded:
                await self._push(LOADED_PUSH, encode_session(self.id))
                await self._give(self._shard.on_loaded(self._env()))
            while self.is_loaded and not self.is_over:
                await self._work()
        except LinkBroken:
            self.close()
        finally:
            if not self.is_over:
                # It cannot be loaded here. Or a defect, which the task's owner logs.
                with suppress(LinkBroken):
                    await self._push(ENDED_PUSH, encode_session(self.id))
                self.close()

    async def _load(self) -> None:
        slice_end_ms = self._on.clock.monotonic_ms() + _SLICE_MS
        while not self.is_over:
            if not self._loads:
                self._has_work.clear()
                await self._has_work.wait()
                continue
            load = self._loads.popleft()
            self._load_bytes -= len(load.batches)
            self._has_room.set()
            if not len(load.batches):
                self.is_loaded = await self._catch_up()
                if self.is_loaded:
                    self._on.load_times.observe(self._on.clock.monotonic_ns() - self._opened_ns)
                return
            for _ in self._shard.load(load.batches, self._env()):
                if self._on.clock.monotonic_ms() >= slice_end_ms:
                    await asyncio.sleep(0)
                    slice_end_ms = self._on.clock.monotonic_ms() + _SLICE_MS

    async def _catch_up(self) -> bool:
        """Whether it knows what the broker knew. To whoever knows less, topics are gone that are
        there: another coordinator may know more."""
        await self._wait_for_image(self._metadata_offset, _CATCH_UP_S)
        self._image = self._on.image()
        has_caught_up = self._image.provenance.offset >= self._metadata_offset
        if not has_caught_up:
            self._on.log.warning("too far behind to load a shard", shard=self.partition)
        return has_caught_up

    async def _work(self) -> None:
        self._arm()
        if not (self._requests or self._jobs.done or self._is_due() or self._has_new_image()):
            self._has_work.clear()
            await self._has_work.wait()
        if self._jobs.failure is not None:
            raise self._jobs.failure
        if self._has_new_image():
            before, self._image = self._image, self._on.image()
            decisions = self._shard.machine.on_image(before, self._env())
            await self._give(self._shard.turn_of(decisions, self._env()))
        while self._jobs.done:
            job, outcome = self._jobs.done.popleft()
            await self._give(self._shard.on_done(job, outcome, self._env()))
        if self._requests:
            await self._decide()
        elif self._is_due():
            await self._expire()
        await asyncio.sleep(0)

    async def _decide(self) -> None:
        newest = max(one.metadata_offset for one in self._requests)
        # A client that saw more than this coordinator is answered all the same.
        await self._wait_for_image(newest, _IMAGE_WAIT_S)
        requests: list[Request] = []
        while self._requests and len(requests) < _TURN_COUNT_MAX:
            request = self._read(self._requests.popleft())
            if request is not None:
                requests.append(request)
        if self._time.stands:
            requests = await self._refuse_writes(requests)
        await self._give(self._shard.decide(requests, self._env()))

    async def _refuse_writes(self, requests: Sequence[Request]) -> list[Request]:
        """Those that are left."""
        left, answers, env = [], [], self._env()
        for request in requests:
            if self._shard.machine.would_write(request, env):
                del self._versions[request.call]
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
                answers.append(ShardAnswer(request.call, NO_OFFSET, b"", error))
            else:
                left.append(request)
        if answers:
            outcome = Outcome(self.id, self._shard.log_end, b"", answers)
            await self._push(OUTCOME_PUSH, encode_outcome(outcome))
        return left

    async def _wait_for_image(self, offset: int, at_most_s: float) -> None:
        deadline_ms = self._on.clock.monotonic_ms() + int(at_most_s * 1000)
        while self._on.image().provenance.offset < offset and not self.is_over:
            if self._on.clock.monotonic_ms() >= deadline_ms:
                return
            self._has_work.clear()
            try:
                async with asyncio.timeout(0.05):
                    await self._has_work.wait()
            except TimeoutError:
                pass

    def _read(self, item: ShardRequest) -> Request | None:
        try:
            message = decode(API_BY_KEY[item.api_key].request, item.api_version, bytes(item.body))
        except (DecodeError, KeyError) as error:
            # A broker decodes before it forwards: this is another release, or a defect.
            self._on.log.warning("not read", api_key=item.api_key, reason=str(error))
            return None
        self._versions[item.correlation] = item.api_version
        context = Context(
            item.api_version, item.client_id, item.client_host, item.principal, item.listener
        )
        return Request(item.correlation, item.api_key, message, context)

    async def _give(self, turn: Turn) -> None:
        for job in turn.jobs:
            self._jobs.start(job)
        if turn.is_empty:
            return
        answers = []
        for (call, message), depends_on in turn.due:
            version = self._versions.pop(call, None)
            if version is not None:
                answers.append(ShardAnswer(call, depends_on, encode(message, version)))
        outcome = Outcome(self.id, turn.base_offset, turn.batch, answers)
        if turn.batch or answers:
            await self._push(OUTCOME_PUSH, encode_outcome(outcome))

    async def _push(self, kind: int, body: bytes) -> None:
        if not self.is_over:
            await self._caller.push(kind, body)

    # --- time

    def _env(self) -> Env:
        on = self._on
        return Env(on.clock.now_ms(), self._now_ms(), self._image, on.rng)

    def _now_ms(self) -> int:
        return self._time.at(self._on.clock.monotonic_ms())

    def _has_new_image(self) -> bool:
        return self._on.image() is not self._image

    def _is_due(self) -> bool:
        at_ms = self._shard.machine.next_deadline_ms()
        is_past = at_ms is not None and at_ms <= self._now_ms()
        return is_past and not self._time.stands and self._caller.in_touch_ms >= _IN_TOUCH_MS

    async def _expire(self) -> None:
        # What was read just now is a task that begins in the next turn of the loop.
        await asyncio.sleep(0)
        if not self._requests and self._is_due():
            await self._give(self._shard.on_timer(self._env()))

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at_ms = self._shard.machine.next_deadline_ms()
        if at_ms is not None and not self._time.stands:
            left_s = (at_ms - self._now_ms()) / 1000
            delay_s = left_s if left_s > 0 or self._is_due() else _LISTEN_S
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._has_work.set)
