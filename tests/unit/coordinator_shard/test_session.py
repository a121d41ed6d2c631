"""A session with its broker: what it refuses, and when its deadlines come true. In virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.session import Session, SessionParts
from barnabas_core.links.shard_message import (
    ENDED_PUSH,
    LOADED_PUSH,
    OUTCOME_PUSH,
    Load,
    Open,
    Outcome,
    ShardRequest,
    decode_outcome,
)
from barnabas_core.metadata.image import EMPTY_IMAGE, Provenance
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Identity
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from barnabas_core.wire.schema import Message
from tests.sim.virtual_loop import VirtualLoop
from tests.support.cluster_image import broker, replayed, topic

M = TypeVar("M", bound=Message)
SESSION_S = 5
IN_TOUCH = 1 << 30


class LoopClock:
    def monotonic_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)

    def monotonic_ns(self) -> int:
        return self.monotonic_ms() * 1_000_000

    def now_ms(self) -> int:
        return 1_800_000_000_000 + self.monotonic_ms()


class InlineExecutor:
    async def in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        return call(*arguments)


@dataclass(slots=True)
class Broker:
    """The other end, and what it was pushed."""

    in_touch_ms: int = IN_TOUCH
    identity: Identity = field(default_factory=lambda: Identity("cluster", 1, "broker"))
    outcomes: list[Outcome] = field(default_factory=list)
    is_loaded: bool = False
    has_ended: bool = False

    async def push(self, kind: int, body: Buffer) -> None:
        if kind == OUTCOME_PUSH:
            self.outcomes.append(decode_outcome(body))
        self.is_loaded = self.is_loaded or kind == LOADED_PUSH
        self.has_ended = self.has_ended or kind == ENDED_PUSH

    def close(self) -> None:
        raise AssertionError("nothing is wrong")


class Bench:
    """A session of an empty shard, loaded."""

    def __init__(self, metadata_offset: int = -1) -> None:
        settings = GroupSettings(
            consumer_session_timeout_ms=SESSION_S * 1000, consumer_assignment_interval_ms=0
        )
        executor: Any = InlineExecutor()
        parts = SessionParts(
            lambda: GroupShard(settings), lambda: self.image, LoopClock(), SeededRng(1),
            executor, EventLog(),
        )  # fmt: skip
        self.image = replayed([broker(1), *topic("t", bytes(16), [[1]])], EMPTY_IMAGE)[1]
        self.broker = Broker()
        self.session = Session(Open(1, 0, 3, 0, 0, metadata_offset), self.broker, parts)
        self._task = asyncio.get_running_loop().create_task(self.session.run())
        self._calls = 0

    async def load(self) -> None:
        self.session.put(Load(1, b""))
        await asyncio.sleep(0.001)

    async def end(self) -> None:
        self.session.close()
        await self._task

    def send(self, message: Message, version: int) -> int:
        assert message.KEY is not None
        self._calls += 1
        body = encode(message, version)
        self.session.put(
            ShardRequest(1, self._calls, message.KEY, version, -1, "c", "/h", "User:me", "L", body)
        )
        return self._calls

    async def ask(self, message: Message, version: int) -> int:
        call = self.send(message, version)
        await asyncio.sleep(0.001)
        return call

    def error(self, call: int) -> ErrorCode:
        """Why it was not decided."""
        return ErrorCode(self._answer(call).error_code)

    def answer(self, call: int, kind: type[M], version: int) -> M:
        found = self._answer(call)
        assert not found.error_code
        return decode(kind, version, bytes(found.body))

    def _answer(self, call: int) -> Any:  # noqa: ANN401
        answers = [one for outcome in self.broker.outcomes for one in outcome.answers]
        return next(one for one in answers if one.correlation == call)

    @property
    def batch_count(self) -> int:
        return sum(bool(len(outcome.batches)) for outcome in self.broker.outcomes)

    async def join(self) -> int:
        """The member's epoch."""
        request = heartbeat(0, rebalance_timeout_ms=9_000, subscribed_topic_names=["t"])
        request.topic_partitions = []
        call = await self.ask(request, 1)
        return self.answer(call, ConsumerGroupHeartbeatResponse, 1).member_epoch

    async def beat(self, epoch: int) -> ErrorCode:
        call = await self.ask(heartbeat(epoch), 1)
        found = self._answer(call)
        if found.error_code:
            return ErrorCode(found.error_code)
        response = decode(ConsumerGroupHeartbeatResponse, 1, bytes(found.body))
        return ErrorCode(response.error_code)


def heartbeat(epoch: int, **fields: Any) -> ConsumerGroupHeartbeatRequest:  # noqa: ANN401
    return ConsumerGroupHeartbeatRequest("g", "m", epoch, **fields)


def commit(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(0, offset)
    return OffsetCommitRequest("s", topics=[OffsetCommitRequestTopic("t", partitions=[partition])])


def play(scenario: Callable[[Bench], Awaitable[None]], metadata_offset: int = -1) -> None:
    async def scene() -> None:
        bench = Bench(metadata_offset)
        await bench.load()
        await scenario(bench)
        await bench.end()

    loop = VirtualLoop()
    try:
        loop.run_until_complete(scene())
    finally:
        loop.close()


def test_a_shard_is_loaded_when_its_coordinator_knows_what_its_broker_knew() -> None:
    """With less it would take the topics of its members for deleted."""

    async def scenario(bench: Bench) -> None:
        await asyncio.sleep(4)
        assert not bench.broker.is_loaded

        bench.image = replace(bench.image, provenance=Provenance(offset=5))
        bench.session.on_image()
        await asyncio.sleep(0.001)
        assert bench.broker.is_loaded

    play(scenario, metadata_offset=5)


def test_a_coordinator_that_stays_behind_gives_the_shard_back() -> None:
    async def scenario(bench: Bench) -> None:
        await asyncio.sleep(6)

        assert not bench.broker.is_loaded
        assert bench.broker.has_ended

    play(scenario, metadata_offset=5)


# --- while nothing can be written


def test_what_would_write_is_refused_while_nothing_can_be_written() -> None:
    async def scenario(bench: Bench) -> None:
        bench.session.on_writable(False)
        call = await bench.ask(commit(7), 9)

        assert bench.error(call) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert bench.batch_count == 0

        bench.session.on_writable(True)
        await bench.ask(commit(7), 9)
        assert bench.batch_count == 1

    play(scenario)


def test_reads_go_on_while_nothing_can_be_written() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.ask(commit(7), 9)
        bench.session.on_writable(False)
        groups = [OffsetFetchRequestGroup("s", topics=None)]
        call = await bench.ask(OffsetFetchRequest(groups=groups), 8)

        found = bench.answer(call, OffsetFetchResponse, 8).groups[0]
        assert found.topics[0].partitions[0].committed_offset == 7

    play(scenario)


def test_a_member_that_has_nothing_to_say_stays_while_nothing_can_be_written() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        bench.session.on_writable(False)

        assert await bench.beat(epoch) is ErrorCode.NONE
        call = await bench.ask(heartbeat(epoch, subscribed_topic_names=["u"]), 1)
        assert bench.error(call) is ErrorCode.COORDINATOR_NOT_AVAILABLE

    play(scenario)


def test_nobody_expires_while_nothing_can_be_written_nor_right_after() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        await asyncio.sleep(SESSION_S - 1)
        bench.session.on_writable(False)
        await asyncio.sleep(3 * SESSION_S)
        bench.session.on_writable(True)
        await asyncio.sleep(0.5)
        assert await bench.beat(epoch) is ErrorCode.NONE

        await asyncio.sleep(SESSION_S + 0.1)
        assert await bench.beat(epoch) is ErrorCode.UNKNOWN_MEMBER_ID

    play(scenario)


def test_a_member_whose_heartbeat_was_refused_has_its_full_session_afterwards() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        await asyncio.sleep(SESSION_S - 0.5)
        bench.session.on_writable(False)
        call = await bench.ask(heartbeat(epoch, subscribed_topic_names=["u"]), 1)
        assert bench.error(call) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        bench.session.on_writable(True)

        await asyncio.sleep(SESSION_S - 0.1)
        assert await bench.beat(epoch) is ErrorCode.NONE
        await asyncio.sleep(SESSION_S + 0.1)
        assert await bench.beat(epoch) is ErrorCode.UNKNOWN_MEMBER_ID

    play(scenario)


def test_a_shard_that_could_be_written_all_the_time_gives_nobody_more_time() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        await asyncio.sleep(SESSION_S - 0.5)
        bench.session.on_writable(True)

        await asyncio.sleep(0.6)
        assert await bench.beat(epoch) is ErrorCode.UNKNOWN_MEMBER_ID

    play(scenario)


# --- deadlines


def test_nobody_expires_while_the_broker_is_out_of_touch() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        bench.broker.in_touch_ms = 0
        before = bench.batch_count
        await asyncio.sleep(SESSION_S + 1)
        assert bench.batch_count == before
        assert await bench.beat(epoch) is ErrorCode.NONE

    play(scenario)


def test_who_was_silent_expires_when_the_broker_has_been_in_touch_for_a_while() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        bench.broker.in_touch_ms = 0
        await asyncio.sleep(SESSION_S + 1)
        bench.broker.in_touch_ms = 999
        await asyncio.sleep(1)
        before = bench.batch_count
        bench.broker.in_touch_ms = 1_000
        await asyncio.sleep(1)

        assert bench.batch_count > before
        assert await bench.beat(epoch) is ErrorCode.UNKNOWN_MEMBER_ID

    play(scenario)


def test_a_heartbeat_that_is_there_when_a_deadline_comes_counts() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        joined_at = bench.session._shard.machine.next_deadline_ms()
        assert joined_at is not None
        loop = asyncio.get_running_loop()
        # As a call is: a task that begins in the next turn of the loop.
        loop.call_at(joined_at / 1000, lambda: loop.call_soon(bench.send, heartbeat(epoch), 1))
        await asyncio.sleep(SESSION_S + 1)

        assert await bench.beat(epoch) is ErrorCode.NONE

    play(scenario)


def test_a_new_epoch_of_the_leader_changes_nothing_else() -> None:
    async def scenario(bench: Bench) -> None:
        epoch = await bench.join()
        assert bench.session.leader_epoch == 3
        bench.session.on_epoch(5)

        assert bench.session.leader_epoch == 5
        assert await bench.beat(epoch) is ErrorCode.NONE

    play(scenario)
