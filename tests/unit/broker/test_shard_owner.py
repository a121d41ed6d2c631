"""A shard's owner over its epochs, and what it tells its coordinator. In virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.shards.shard_owner import OwnerParts, Phase, ShardOwner, Waiting
from barnabas_core.links.shard_message import (
    Close,
    Committed,
    Epoch,
    Item,
    Open,
    Outcome,
    ShardAnswer,
    ShardRequest,
    Writable,
)
from barnabas_core.log.log_config import LogConfig
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.partition_record import PartitionRecord
from tests.sim.virtual_loop import VirtualLoop
from tests.support.manual_clock import ManualClock
from tests.support.small_log import new_log

ME, OTHER = 1, 2
COMMIT_TIMEOUT_S = 0.3


class Coordinator:
    """The stream to one: what was sent on it."""

    def __init__(self) -> None:
        self.sent: list[Item] = []
        self.is_full = False

    def open(self, _: ShardOwner) -> int:
        return 1

    def forget(self, session: int) -> None:
        pass

    def send(self, item: Item) -> None:
        self.sent.append(item)

    async def wait_for_room(self) -> None:
        pass

    def told(self, kind: type[Item]) -> list[Item]:
        return [item for item in self.sent if type(item) is kind]


def image(epoch: int, isr: tuple[int, ...] = (ME, OTHER), leader: int = ME) -> PartitionImage:
    record = PartitionRecord(
        replicas=[ME, OTHER], isr=list(isr), leader=leader, leader_epoch=epoch,
        partition_epoch=10 * epoch + 2 - len(isr),
    )  # fmt: skip
    return PartitionImage.from_record(record)


class Bench:
    def __init__(self) -> None:
        self.partition = Partition(new_log(LogConfig(min_insync_replicas=2)))
        self.partition.lead(ME, image(1), 0)
        executor: Any = None  # what is small is written inline
        writer = TurnWriter(executor, Partition.on_written, lambda *_: None)
        clock, log = ManualClock(), EventLog()
        parts = OwnerParts(writer, clock, executor, log, COMMIT_TIMEOUT_S, lambda: 77)
        self.owner = ShardOwner(self.partition, parts)
        self.stream = Coordinator()
        self.answers: list[bytes | ErrorCode] = []

    async def open(self) -> None:
        stream: Any = self.stream
        await self.owner.open(stream)
        self.owner.on_loaded()

    def lead(self, epoch: int, isr: tuple[int, ...] = (ME, OTHER)) -> None:
        """The metadata say so, and are applied."""
        self.partition.lead(ME, image(epoch, isr), 0)
        self.owner.on_metadata()

    def ask(self) -> int | None:
        request = ShardRequest(0, 0, 8, 9, 0, "", "", "", "", b"")
        return self.owner.ask(request, Waiting(self.answers.append))

    async def commit(self) -> None:
        """Something is decided that writes; whether it is committed is another matter."""
        call = self.ask()
        assert call is not None
        offset = self.partition.log.staged_end_offset
        batch = build_batch([(b"k", b"v")], timestamp_ms=1)
        self.owner.on_outcome(Outcome(1, offset, batch, [ShardAnswer(call, offset, b"done")]))
        await asyncio.sleep(0.001)

    def replicate(self) -> None:
        self.partition.on_acked(OTHER, self.partition.log.log_end_offset, 0)


def play(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def scene() -> None:
        bench = Bench()
        await bench.open()
        await scenario(bench)

    loop = VirtualLoop()
    try:
        loop.run_until_complete(scene())
    finally:
        loop.close()


def test_a_session_goes_on_when_the_same_broker_leads_in_another_epoch() -> None:
    async def scenario(bench: Bench) -> None:
        bench.lead(2)
        bench.owner.on_metadata()

        assert bench.owner.is_current
        assert bench.owner.phase is Phase.OPEN
        assert bench.stream.told(Epoch) == [Epoch(1, 2)]
        assert bench.stream.told(Open) == [Open(1, 0, 1, 0, 0, 77)]
        assert bench.stream.told(Close) == []

    play(scenario)


def test_what_waits_for_its_commit_is_answered_in_the_next_epoch() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.commit()
        bench.lead(2)
        assert bench.answers == []
        bench.replicate()

        assert bench.answers == [b"done"]

    play(scenario)


def test_what_waits_for_its_commit_is_refused_when_another_broker_leads() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.commit()
        bench.partition.follow(image(2, leader=OTHER))
        assert not bench.owner.is_current
        bench.owner.end(ErrorCode.NOT_COORDINATOR)

        assert bench.answers == [ErrorCode.NOT_COORDINATOR]
        bench.ask()
        assert bench.answers[1:] == [ErrorCode.NOT_COORDINATOR]

    play(scenario)


def test_a_coordinator_is_told_that_too_few_are_in_sync_and_when_enough_are_again() -> None:
    async def scenario(bench: Bench) -> None:
        bench.lead(1, isr=(ME,))
        bench.lead(2)

        assert bench.stream.told(Writable) == [Writable(1, False), Writable(1, True)]

    play(scenario)


def test_a_coordinator_is_told_before_it_is_asked() -> None:
    """The leader may have heard of a smaller ISR from the controller before the metadata came."""

    async def scenario(bench: Bench) -> None:
        leadership = bench.partition.leadership
        assert leadership is not None
        leadership.decided((ME,), 100)
        bench.ask()

        kinds = [type(item) for item in bench.stream.sent]
        assert kinds.index(Writable) < kinds.index(ShardRequest)

    play(scenario)


def test_a_session_that_begins_while_too_few_are_in_sync_is_told_so() -> None:
    async def scenario(bench: Bench) -> None:
        bench.owner.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        bench.lead(1, isr=(ME,))
        bench.stream.sent.clear()
        await bench.open()

        assert bench.stream.told(Writable) == [Writable(1, False)]

    play(scenario)


def test_what_is_under_way_when_too_few_are_in_sync_is_appended_and_waits() -> None:
    async def scenario(bench: Bench) -> None:
        bench.lead(1, isr=(ME,))
        await bench.commit()
        assert bench.partition.log.log_end_offset == 1
        assert bench.answers == []

        bench.lead(2)
        bench.replicate()
        assert bench.answers == [b"done"]

    play(scenario)


def test_what_is_not_committed_in_time_is_refused_and_stands_all_the_same() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.commit()
        await asyncio.sleep(COMMIT_TIMEOUT_S - 0.01)
        assert bench.answers == []
        await asyncio.sleep(0.02)

        assert bench.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        assert bench.partition.log.log_end_offset == 1
        bench.replicate()
        bench.lead(2)
        assert len(bench.answers) == 1

    play(scenario)


def test_what_a_coordinator_refused_is_refused() -> None:
    async def scenario(bench: Bench) -> None:
        call = bench.ask()
        assert call is not None
        refusal = ShardAnswer(call, -1, b"", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        bench.owner.on_outcome(Outcome(1, 0, b"", [refusal]))

        assert bench.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]

    play(scenario)


def test_a_batch_at_another_offset_ends_the_session() -> None:
    async def scenario(bench: Bench) -> None:
        batch = build_batch([(b"k", b"v")], timestamp_ms=1)
        bench.owner.on_outcome(Outcome(1, 5, batch, []))

        assert bench.owner.phase is Phase.CLOSED
        assert bench.partition.log.staged_end_offset == 0

    play(scenario)


def test_the_high_watermark_is_told_with_the_next_request() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.commit()
        bench.replicate()
        bench.ask()

        assert bench.stream.told(Committed) == [Committed(1, 1)]

    play(scenario)
