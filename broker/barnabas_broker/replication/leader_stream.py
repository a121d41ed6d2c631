"""The follower's end of the stream from one leader.

One update is under way at a time: what becomes due meanwhile, new subscriptions and
acknowledgements alike, goes in the next. After a loss everything is asked for anew, each
subscription with a number of its own, so that nothing of an earlier stream can be taken for news.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.replication.followed_partition import (
    NO_SUBSCRIPTION,
    FollowedPartition,
    Phase,
)
from barnabas_broker.replication.message import (
    STATE_PUSH,
    UPDATE,
    VERSION,
    BadMessage,
    Subscribe,
    Subscribed,
    Update,
    decode_results,
    decode_states,
    encode_update,
)
from barnabas_broker.replication.replication_traffic import ReplicationTraffic
from barnabas_broker.replication.throttle import FOLLOWER, ReplicationThrottle
from barnabas_broker.replication.truncation import truncation_offset
from barnabas_core.log.error import AppendError, LogOffline
from barnabas_core.ports import Clock, DiskError
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address, Call, LinkError, LinkEvents, Links, Loss, Purpose
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.runtime.supervisor import Supervisor, TaskList
from barnabas_core.wire.error_code import ErrorCode

_TIMEOUT_MS: Final = 10_000
_RETRY_S: Final = 0.05
_SUBSCRIBE_COUNT_MAX: Final = 1_000
# Records behind the leader: more go by the stream for those who catch up, fewer come back.
_FAR_BEHIND: Final = 10_000
_NEAR: Final = 1_000


class Truncate(Protocol):
    """`Storage.truncate`."""

    async def __call__(
        self, partition: Partition, offset: int, *, keeps_start: bool = False
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class FollowerParts:
    """What the follower's side of replication stands on."""

    links: Links
    partitions: Partitions
    writer: TurnWriter
    truncate: Truncate
    broker_epoch: Callable[[], int]
    throttle: ReplicationThrottle
    traffic: ReplicationTraffic
    node_id: int
    clock: Clock
    log: EventLog


class LeaderStream:
    """Made inside a running loop."""

    def __init__(
        self,
        leader_id: int,
        address: Address,
        lane: Purpose,
        on: FollowerParts,
        move: Callable[[FollowedPartition, Purpose], None],
    ) -> None:
        """`move`: to the stream of the other lane, from the same leader."""
        self.leader_id = leader_id
        self.address = address
        self._lane = lane
        self._on = on
        self._move = move
        self._complaints = FloodLimit(on.log, on.clock)
        self._followed: dict[FollowedPartition, None] = {}
        self._wanted: dict[FollowedPartition, None] = {}
        self._written: dict[FollowedPartition, None] = {}
        self._cancelled: list[int] = []
        self._subscriptions: dict[int, FollowedPartition] = {}
        self._last_subscription = NO_SUBSCRIPTION
        self._has_work = asyncio.Event()
        self._tasks = TaskList(on.log)
        self._supervisor = Supervisor(on.log)
        events = LinkEvents(self._on_push, self._on_connected, self._on_lost)
        self._link = on.links.open(lane, address, events)
        self._supervisor.start("updates", self._run)

    def __len__(self) -> int:
        return len(self._followed)

    def add(self, followed: FollowedPartition) -> None:
        self._followed[followed] = None
        self._want(followed)

    def remove(self, followed: FollowedPartition) -> None:
        self._followed.pop(followed, None)
        self._wanted.pop(followed, None)
        self._written.pop(followed, None)
        self._unsubscribe(followed)

    async def close(self) -> None:
        await self._supervisor.stop()
        await self._tasks.stop()
        await self._link.close()

    # --- what happens

    def on_written(self, followed: FollowedPartition) -> None:
        if followed.stream is not self:
            return  # it has moved while this was held back
        if followed.phase is not Phase.FOLLOWING:
            self._has_work.set()  # it may have waited for this to subscribe
        elif self._lane is Purpose.CATCH_UP and followed.lag <= _NEAR:
            self._move(followed, Purpose.REPLICA)
        elif delay_ms := self._delay_ms(followed):
            # The next chunk comes when this one is acknowledged.
            asyncio.get_running_loop().call_later(delay_ms / 1000, self.on_written, followed)
        else:
            self._written[followed] = None
            self._has_work.set()

    def _delay_ms(self, followed: FollowedPartition) -> int:
        log, on = followed.partition.log, self._on
        if followed.lag <= 0:
            return 0
        if not on.throttle.is_listed(FOLLOWER, log.topic, log.partition, on.node_id):
            return 0
        return on.throttle.quotas[FOLLOWER].delay_ms(on.clock.monotonic_ms())

    def _on_connected(self) -> None:
        for followed in self._followed:
            if followed.phase is not Phase.RESTING:
                self._want(followed)

    def _on_lost(self, _: Loss) -> None:
        self._subscriptions.clear()
        self._cancelled.clear()
        self._written.clear()
        for followed in self._followed:
            followed.subscription = NO_SUBSCRIPTION
            if followed.phase is not Phase.RESTING:
                followed.phase = Phase.WANTED

    def _want(self, followed: FollowedPartition) -> None:
        followed.phase = Phase.WANTED
        self._wanted[followed] = None
        self._has_work.set()

    def _unsubscribe(self, followed: FollowedPartition) -> None:
        if self._subscriptions.pop(followed.subscription, None) is not None:
            self._cancelled.append(followed.subscription)
            self._has_work.set()
        followed.subscription = NO_SUBSCRIPTION

    def _rest(
        self, followed: FollowedPartition, offset: int | None = None, *, keeps_start: bool = False
    ) -> None:
        """Cut the log at `offset`, or else wait a little, and ask again."""
        self._unsubscribe(followed)
        self._written.pop(followed, None)
        followed.phase = Phase.RESTING
        self._tasks.start(self._come_back(followed, offset, keeps_start=keeps_start))

    async def _come_back(
        self, followed: FollowedPartition, offset: int | None, *, keeps_start: bool
    ) -> None:
        if offset is None:
            await asyncio.sleep(_RETRY_S)
        elif followed.is_current:
            log = followed.partition.log
            self._on.log.info(
                "truncating", partition=f"{log.topic}-{log.partition}", to=offset,
                log_end=log.log_end_offset, high_watermark=log.high_watermark,
            )  # fmt: skip
            await self._on.truncate(followed.partition, offset, keeps_start=keeps_start)
        if followed in self._followed and followed.is_current:
            self._want(followed)

    # --- updates

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while (update := self._next_update()) is not None:
                try:
                    body = encode_update(update)
                    answer = await self._link.call(Call(UPDATE, VERSION, body), _TIMEOUT_MS)
                    results = decode_results(answer)
                except (LinkError, BadMessage) as error:
                    await self._on_failed(update, str(error))
                    continue
                for result in results:
                    self._on_result(result)

    def _next_update(self) -> Update | None:
        subscribe = self._take_wanted()
        acks = [
            followed.ack()
            for followed in self._written
            if followed.subscription != NO_SUBSCRIPTION and followed.is_current
        ]
        self._written.clear()
        cancelled, self._cancelled = self._cancelled, []
        if not (subscribe or acks or cancelled):
            return None
        return Update(self._on.broker_epoch(), subscribe, cancelled, acks)

    def _take_wanted(self) -> list[Subscribe]:
        taken = [one for one in self._wanted if one.is_settled][:_SUBSCRIBE_COUNT_MAX]
        requests = []
        for followed in taken:
            del self._wanted[followed]
            if not followed.is_current:
                continue
            self._unsubscribe(followed)
            self._last_subscription += 1
            followed.phase = Phase.ASKED
            self._subscriptions[self._last_subscription] = followed
            requests.append(followed.request(self._last_subscription))
        return requests

    async def _on_failed(self, update: Update, reason: str) -> None:
        """Nobody knows how much of it was heard: all of it again, once there is a connection."""
        self._complaints.warning("a leader is out of reach", leader=self.leader_id, reason=reason)
        await asyncio.sleep(_RETRY_S)
        concerned = [one.subscription for one in update.subscribe]
        concerned += [one.subscription for one in update.acks]
        for number in concerned:
            followed = self._subscriptions.get(number)
            if followed is not None:
                self._want(followed)
        for followed in self._followed:
            if followed.phase is Phase.WANTED:
                self._want(followed)

    def _on_result(self, result: Subscribed) -> None:
        followed = self._subscriptions.get(result.subscription)
        if followed is None or followed.phase is not Phase.ASKED:
            return
        log = followed.partition.log
        if result.error_code == ErrorCode.NONE and result.diverging_epoch < 0:
            followed.phase = Phase.FOLLOWING
            if self._lane is Purpose.REPLICA and result.log_end - log.log_end_offset > _FAR_BEHIND:
                self._move(followed, Purpose.CATCH_UP)
        elif result.error_code == ErrorCode.NONE:
            offset = truncation_offset(
                log.epochs, log.log_end_offset, result.diverging_epoch, result.diverging_end
            )
            self._rest(followed, offset)
        elif result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and result.log_end >= 0:
            # Behind what the leader still has, or ahead of it with no epoch in common.
            self._rest(followed, _nearest(log.log_end_offset, result))
        else:
            self._on.log.debug(
                "not followed yet", partition=f"{log.topic}-{log.partition}",
                leader=self.leader_id, error=ErrorCode(result.error_code).name,
            )  # fmt: skip
            self._rest(followed)

    # --- pushes

    async def _on_push(self, kind: int, body: Buffer) -> None:
        if kind != STATE_PUSH:
            self._on_records(kind, body)
            return
        for state in decode_states(body):
            followed = self._subscriptions.get(state.subscription)
            if followed is None or not followed.is_current:
                continue
            if not followed.on_state(state.high_watermark, state.log_start):
                self._want(followed)

    def _on_records(self, subscription: int, body: Buffer) -> None:
        followed = self._subscriptions.get(subscription)
        if followed is None or not followed.is_current or followed.phase is Phase.RESTING:
            return
        # The answer to the subscription may come after its first records.
        followed.phase = Phase.FOLLOWING
        partition = followed.partition
        log = partition.log
        try:
            log.stage_replica(body, now_ms=self._on.clock.now_ms())
        except AppendError as error:
            self._on_misfit(followed, body, str(error))
        except LogOffline:
            pass
        except DiskError as error:
            self._on.partitions.fail(partition, error)
        else:
            self._on.traffic.bytes_in += len(body)
            now_ms = self._on.clock.monotonic_ms()
            if self._on.throttle.is_listed(FOLLOWER, log.topic, log.partition, self._on.node_id):
                self._on.throttle.quotas[FOLLOWER].spend(len(body), now_ms)
            if log.staged_end_offset > log.log_end_offset:
                self._on.writer.mark(partition)
            else:
                self.on_written(followed)

    def _on_misfit(self, followed: FollowedPartition, body: Buffer, reason: str) -> None:
        begins_at = followed.start_within(body)
        if begins_at is not None:
            self._rest(followed, begins_at, keeps_start=True)
            return
        log = followed.partition.log
        self._complaints.warning(
            "what a leader sent does not fit", partition=f"{log.topic}-{log.partition}",
            leader=self.leader_id, reason=reason,
        )  # fmt: skip
        self._rest(followed)


def _nearest(log_end: int, result: Subscribed) -> int:
    return result.log_start if log_end < result.log_start else result.log_end
