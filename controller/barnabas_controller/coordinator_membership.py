"""Membership of coordinators, on the active controller: they register, brokers are told who lives.

A broker that has made a call on Membership is told the list on the same stream, and again whenever
it changes; so one that comes back, or whose controller is new, has it with its next heartbeat. Per
stream one push is under way: what changes meanwhile is told by the next.
"""

import asyncio
from typing import Final

from barnabas_controller.engine import Engine
from barnabas_controller.link_services import CallService, FindActive
from barnabas_controller.managers.coordinators import CoordinatorLiveness, Key, key_of
from barnabas_core.links.coordinator_message import (
    HEARTBEAT,
    LIVE_PUSH,
    REGISTER,
    ROLES,
    VERSION,
    BadCoordinatorMessage,
    Standing,
    Verdict,
    decode_heartbeat,
    decode_registration,
    encode_live,
    encode_verdict,
)
from barnabas_core.ports import Clock
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, LinkBroken, Loss, NotActive
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor, TaskList

_CALLS: Final = (REGISTER, HEARTBEAT)
_BROKER: Final = "broker"


class CoordinatorMembership:
    def __init__(
        self, engine: Engine, find_active: FindActive, clock: Clock, log: EventLog
    ) -> None:
        self._engine = engine
        self._find_active = find_active
        self._clock = clock
        self._log = log
        self._liveness: CoordinatorLiveness | None = None
        self._heard_by: dict[Key, Caller] = {}
        """The stream on which each was heard of last: the end of an older one says nothing."""
        self._told: dict[Caller, tuple[int, int] | None] = {}
        """Brokers, and the stamp of what they were told last."""
        self._pushing: dict[Caller, None] = {}
        self._pushes = TaskList(log)
        self._seen: list[Key] = []
        self._changed = asyncio.Event()

    @property
    def liveness(self) -> CoordinatorLiveness | None:
        """None while this controller is not active."""
        return self._liveness

    def start(self, supervisor: Supervisor) -> None:
        supervisor.start("coordinator sessions", self._run)

    async def close(self) -> None:
        await self._pushes.stop()

    def on_reign(self) -> None:
        """This controller became active, or ceased to be."""
        engine = self._engine
        self._heard_by.clear()
        self._told.clear()
        self._seen = []
        self._liveness = None
        if engine.is_active:
            timeout_ms = engine.settings.broker_session_timeout_ms
            now_ms = self._clock.monotonic_ms()
            self._liveness = CoordinatorLiveness(engine.epoch, timeout_ms, now_ms)
        self._changed.set()

    # --- calls and losses

    def answer(self, caller: Caller, call: Call) -> Buffer:
        if caller.identity.role not in ROLES or call.api_version != VERSION:
            raise CallRefused(f"a {caller.identity.role} is no coordinator that is known here")
        liveness = self._liveness
        if liveness is None:
            raise NotActive(*self._find_active())
        try:
            verdict = self._decide(liveness, caller, call)
        except BadCoordinatorMessage as error:
            raise CallRefused(f"malformed: {error}") from error
        if verdict.standing is Standing.LIVE:
            self._heard_by[key_of(caller.identity)] = caller
        self._on_changed()
        return encode_verdict(verdict)

    def _decide(self, liveness: CoordinatorLiveness, caller: Caller, call: Call) -> Verdict:
        now_ms = self._clock.monotonic_ms()
        if call.api_key == REGISTER:
            return liveness.register(caller.identity, *decode_registration(call.body), now_ms)
        return liveness.heard(caller.identity, decode_heartbeat(call.body), now_ms)

    def on_broker(self, caller: Caller) -> None:
        """A broker was answered on this stream."""
        if self._liveness is not None:
            self._told.setdefault(caller, None)
            self._tell(caller)

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        self._told.pop(caller, None)
        key = key_of(caller.identity)
        if self._liveness is None or self._heard_by.get(key) is not caller:
            return
        del self._heard_by[key]
        if loss is Loss.CLOSED:
            interval_ms = self._engine.settings.broker_heartbeat_interval_ms
            now_ms = self._clock.monotonic_ms()
            self._liveness.on_link_closed(caller.identity, now_ms, interval_ms)
            self._on_changed()

    # --- time, and telling

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(self._wait_s()):
                    await self._changed.wait()
            except TimeoutError:
                pass
            if self._liveness is not None:
                self._liveness.expire(self._clock.monotonic_ms())
                self._on_changed(wake=False)

    def _wait_s(self) -> float | None:
        deadline_ms = None if self._liveness is None else self._liveness.next_deadline_ms()
        if deadline_ms is None:
            return None
        return max(deadline_ms - self._clock.monotonic_ms(), 1) / 1000

    def _on_changed(self, *, wake: bool = True) -> None:
        assert self._liveness is not None
        keys = sorted(self._liveness.sessions)
        for role, node_id in keys:
            if (role, node_id) not in self._seen:
                self._log.info("coordinator registered", role=role, node=node_id)
        for role, node_id in self._seen:
            if (role, node_id) not in keys:
                self._log.info("coordinator gone", role=role, node=node_id)
        self._seen = keys
        for caller in self._told:
            self._tell(caller)
        if wake:
            self._changed.set()

    def _tell(self, caller: Caller) -> None:
        liveness = self._liveness
        if liveness is None or caller in self._pushing or self._told[caller] == liveness.stamp:
            return
        self._pushing[caller] = None
        self._pushes.start(self._push(caller))

    async def _push(self, caller: Caller) -> None:
        try:
            while caller in self._told and self._liveness is not None:
                live = self._liveness.live()
                if self._told[caller] == live.stamp:
                    return
                self._told[caller] = live.stamp
                await caller.push(LIVE_PUSH, encode_live(live))
        except LinkBroken:
            self._told.pop(caller, None)
        finally:
            del self._pushing[caller]


class MembershipService:
    """Membership as a whole: brokers in Kafka's own messages, coordinators in ours."""

    def __init__(self, calls: CallService, coordinators: CoordinatorMembership) -> None:
        self._calls = calls
        self._coordinators = coordinators

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if call.api_key in _CALLS:
            return self._coordinators.answer(caller, call)
        body = await self._calls.on_call(caller, call)
        if caller.identity.role == _BROKER:
            self._coordinators.on_broker(caller)
        return body

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        self._calls.on_lost(caller, loss)
        self._coordinators.on_lost(caller, loss)
