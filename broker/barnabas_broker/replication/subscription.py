"""The leader's end of one follower's stream: what it wants, and what is on its way to it.

    subscribed ──wake──> ready ──chunk sent──> in flight ──acknowledged──> ready, or waiting

One chunk per partition is under way at a time; partitions take turns, and the stream's own window
bounds all of them together. A chunk that was acknowledged tells where the next one begins, so that
nothing is counted here that the follower's log does not say itself.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.replication.chunk_reader import read_chunk
from barnabas_broker.replication.isr_keeper import IsrKeeper
from barnabas_broker.replication.message import (
    STATE_PUSH,
    Ack,
    BadMessage,
    State,
    encode_states,
)
from barnabas_broker.replication.replication_traffic import ReplicationTraffic
from barnabas_broker.replication.throttle import LEADER, ReplicationQuota, ReplicationThrottle
from barnabas_core.log.error import LogError, OffsetOutOfRange
from barnabas_core.ports import Clock, DiskError, Executor
from barnabas_core.ports.link import Caller, LinkBroken

if TYPE_CHECKING:
    from barnabas_broker.partitions.leadership import Leadership

_TURN_COUNT_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class LeaderParts:
    """What the leader's side of replication stands on."""

    partitions: Partitions
    isr: IsrKeeper
    clock: Clock
    executor: Executor
    throttle: ReplicationThrottle
    traffic: ReplicationTraffic
    chunk_bytes_max: int


class Subscription:
    """One partition, for one follower; a `Subscriber`."""

    __slots__ = (
        "_stream",
        "id",
        "is_in_flight",
        "is_over",
        "is_ready",
        "leadership",
        "partition",
        "position",
        "sent_state",
    )

    def __init__(
        self, stream: "FollowerStream", number: int, partition: Partition, position: int
    ) -> None:
        assert partition.leadership is not None
        self._stream = stream
        self.id = number
        self.partition = partition
        self.leadership: Leadership = partition.leadership
        self.position = position
        """Where the follower's log ends."""
        self.is_in_flight = False
        self.is_ready = False
        self.is_over = False
        self.sent_state: tuple[int, int] = (-1, -1)

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads in the epoch in which it was made."""
        return not self.is_over and self.partition.leadership is self.leadership

    @property
    def state(self) -> tuple[int, int]:
        log = self.partition.log
        return log.high_watermark, log.log_start_offset

    def wake(self) -> None:
        if not self.is_ready:
            self.is_ready = True
            self._stream.add_ready(self)


class FollowerStream:
    def __init__(self, caller: Caller, on: LeaderParts) -> None:
        self.caller = caller
        self.follower_id = caller.identity.node_id
        self._on = on
        self._subscriptions: dict[int, Subscription] = {}
        self._ready: deque[Subscription] = deque()
        self._has_work = asyncio.Event()
        self._is_closed = False

    # --- what the follower says

    def subscribe(self, number: int, partition: Partition, position: int) -> None:
        """In place of any other subscription of it to this partition."""
        subscription = Subscription(self, number, partition, position)
        earlier = subscription.leadership.subscribers.get(self.follower_id)
        if isinstance(earlier, Subscription):
            earlier.is_over = True
        subscription.leadership.subscribers[self.follower_id] = subscription
        self._subscriptions[number] = subscription
        subscription.wake()

    def cancel(self, number: int) -> None:
        subscription = self._subscriptions.pop(number, None)
        if subscription is not None:
            self._end(subscription)

    def acknowledge(self, ack: Ack) -> None:
        subscription = self._subscriptions.get(ack.subscription)
        if subscription is None or not subscription.is_current:
            return  # crossed with the end of the subscription
        partition = subscription.partition
        if ack.end_offset > partition.log.log_end_offset:
            raise BadMessage(f"{ack.end_offset} acknowledged of {partition!r}")
        if ack.end_offset > subscription.position:
            subscription.position = ack.end_offset
            subscription.is_in_flight = False
        # Otherwise it tells of its log's start alone, and what is on its way has not arrived.
        partition.on_log_start(self.follower_id, ack.log_start)
        partition.on_acked(self.follower_id, ack.end_offset, self._on.clock.monotonic_ms())
        if self.follower_id not in subscription.leadership.isr:
            self._on.isr.look_at(partition)
        subscription.wake()

    def close(self) -> None:
        self._is_closed = True
        self._has_work.set()
        for subscription in self._subscriptions.values():
            self._end(subscription)
        self._subscriptions.clear()
        self._ready.clear()

    def _end(self, subscription: Subscription) -> None:
        subscription.is_over = True
        subscribers = subscription.leadership.subscribers
        if subscribers.get(self.follower_id) is subscription:
            del subscribers[self.follower_id]

    # --- what it is sent

    def add_ready(self, subscription: Subscription) -> None:
        self._ready.append(subscription)
        self._has_work.set()

    async def run(self) -> None:
        """Until the stream is lost."""
        try:
            while not self._is_closed:
                await self._has_work.wait()
                self._has_work.clear()
                while turn := self._take_turn():
                    await self._send_states(turn)
                    for subscription in turn:
                        await self._send_records(subscription)
        except LinkBroken:
            pass  # the service is told by the link

    def _take_turn(self) -> list[Subscription]:
        turn: list[Subscription] = []
        while self._ready and len(turn) < _TURN_COUNT_MAX:
            subscription = self._ready.popleft()
            subscription.is_ready = False
            if subscription.is_current:
                turn.append(subscription)
            elif self._subscriptions.get(subscription.id) is subscription:
                self.cancel(subscription.id)
        return turn

    async def _send_states(self, turn: list[Subscription]) -> None:
        states = []
        for subscription in turn:
            # With a chunk on its way this waits for the acknowledgement, which wakes it again.
            if not subscription.is_in_flight and subscription.sent_state != subscription.state:
                subscription.sent_state = subscription.state
                states.append(State(subscription.id, *subscription.state))
        if states:
            await self.caller.push(STATE_PUSH, encode_states(states))

    def _quota(self, subscription: Subscription) -> ReplicationQuota | None:
        """What bounds it, if anything does."""
        log, throttle = subscription.partition.log, self._on.throttle
        if self.follower_id in subscription.leadership.isr:
            return None
        if not throttle.is_listed(LEADER, log.topic, log.partition, self.follower_id):
            return None
        return throttle.quotas[LEADER]

    async def _send_records(self, subscription: Subscription) -> None:
        partition = subscription.partition
        log = partition.log
        if subscription.is_in_flight or subscription.position >= log.log_end_offset:
            return
        quota = self._quota(subscription)
        if quota is not None and (delay_ms := quota.delay_ms(self._on.clock.monotonic_ms())):
            asyncio.get_running_loop().call_later(delay_ms / 1000, subscription.wake)
            return
        subscription.is_in_flight = True
        try:
            chunk = await read_chunk(
                log, subscription.position, self._on.chunk_bytes_max, self._on.executor
            )
        except OffsetOutOfRange:
            # Deleted meanwhile: told where the log starts now, the follower asks anew.
            subscription.is_in_flight = False
            if subscription.sent_state != subscription.state:
                subscription.wake()
            return
        except LogError:
            # Offline, or truncated while it was read: either way this epoch is over.
            subscription.is_in_flight = False
            return
        except DiskError as error:
            self._on.partitions.fail(partition, error)
            return
        now_ms = self._on.clock.monotonic_ms()
        subscription.leadership.on_sent(self.follower_id, log.log_end_offset, now_ms)
        if quota is not None:
            quota.spend(len(chunk), now_ms)
        self._on.traffic.bytes_out += len(chunk)
        await self.caller.push(subscription.id, chunk)
