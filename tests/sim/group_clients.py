"""Clients of groups: what all of them share, and those that commit without being members.

They find the broker that speaks for their group's coordinator and ask it, as clients do. A request
that they give up goes no further: what has not arrived by then never will. (Otherwise it could be
carried out long after the next one, which is nobody's fault but the network's.)
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from barnabas_core.ports.link import Address
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from barnabas_core.wire.schema import Message
from tests.sim.cluster_clients import RETRY_S, TOPIC, SimClient, Stage, Unanswered
from tests.sim.group_ledger import ConsumerLedger, GroupCount, OffsetLedger
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine
from tests.sim.sim_sockets import ClientEnd

M = TypeVar("M", bound=Message)

FIND_VERSION = 4
COMMIT_VERSION = 9
FETCH_VERSION = 9
# There is a coordinator elsewhere, or there will be one.
MOVED = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class Leader(NamedTuple):
    """Of a group's shard, by the metadata that are committed."""

    broker_id: int
    epoch: int


@dataclass(slots=True)
class GroupStage(Stage):
    """What all clients of a run share."""

    seen: GroupCount = field(default_factory=GroupCount)
    leader_of: Callable[[str], Leader | None] = lambda _: None
    topic_id: Callable[[], bytes] = lambda: b""
    is_calm: bool = False
    """Nobody leaves any more, for whatever reason."""
    offsets: dict[tuple[str, int], OffsetLedger] = field(default_factory=dict)
    consumers: dict[str, ConsumerLedger] = field(default_factory=dict)

    def ledger(self, group_id: str, partition: int) -> OffsetLedger:
        key = group_id, partition
        return self.offsets.setdefault(key, OffsetLedger(f"{group_id} {TOPIC}-{partition}"))

    def consumer(self, group_id: str) -> ConsumerLedger:
        return self.consumers.setdefault(group_id, ConsumerLedger(group_id, self.seen))


class Told(NamedTuple):
    """An answer, when it was asked for, and whether the leader gave it."""

    sent_at: float
    is_certain: bool


class GroupClient(SimClient):
    def __init__(self, machine: SimMachine, stage: GroupStage, group_id: str) -> None:
        super().__init__(machine, stage)
        self.groups = stage
        self.group_id = group_id
        self._coordinator: tuple[int, Address] | None = None

    @property
    def now(self) -> float:
        """As the world has it."""
        return self.machine.world.loop.now

    async def _abandon(self, socket: ClientEnd) -> None:
        socket.reset()

    async def consult(self, request: Message, version: int, response: type[M]) -> tuple[M, Told]:
        """Ask whoever speaks for the group's coordinator."""
        if self._coordinator is None:
            self._coordinator = await self._find()
        broker_id, address = self._coordinator
        before, sent_at = self.groups.leader_of(self.group_id), self.now
        try:
            answer = await self.ask(address, request, version, response)
        except Unanswered:
            self._coordinator = None
            raise
        after = self.groups.leader_of(self.group_id)
        is_certain = before == after and before is not None and before.broker_id == broker_id
        self.groups.seen.uncertain += not is_certain
        return answer, Told(sent_at, is_certain)

    async def _find(self) -> tuple[int, Address]:
        request = FindCoordinatorRequest(coordinator_keys=[self.group_id])
        answer = await self.ask(self.any_broker(), request, FIND_VERSION, FindCoordinatorResponse)
        found = answer.coordinators[0]
        if found.error_code:
            raise Unanswered("nobody coordinates it")
        return found.node_id, Address(found.host, found.port)

    def has_moved(self, error: ErrorCode) -> bool:
        if error in MOVED:
            self._coordinator = None
        return error in MOVED

    # --- offsets

    async def commit(self, offset: int, partition: int, member: tuple[str, int]) -> ErrorCode:
        ledger = self.groups.ledger(self.group_id, partition)
        ledger.on_asked(offset)
        one = OffsetCommitRequestPartition(partition, offset)
        request = OffsetCommitRequest(
            self.group_id, member[1], member[0],
            topics=[OffsetCommitRequestTopic(TOPIC, partitions=[one])],
        )  # fmt: skip
        answer, _ = await self.consult(request, COMMIT_VERSION, OffsetCommitResponse)
        error = ErrorCode(answer.topics[0].partitions[0].error_code)
        if error is ErrorCode.NONE:
            ledger.on_acknowledged(offset)
            self.groups.seen.commits += 1
        return error

    async def fetch(self, partition: int, member: tuple[str | None, int] = (None, -1)) -> int:
        """What is committed, 0 if nothing is; `Unanswered` if it is not told."""
        ledger = self.groups.ledger(self.group_id, partition)
        floor = ledger.acknowledged
        topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[partition])]
        group = OffsetFetchRequestGroup(self.group_id, *member, topics)
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        answer, told = await self.consult(request, FETCH_VERSION, OffsetFetchResponse)
        found = answer.groups[0]
        if found.error_code:
            self.has_moved(ErrorCode(found.error_code))
            raise Unanswered(ErrorCode(found.error_code).name)
        one = found.topics[0].partitions[0]
        check(not one.error_code, ledger.name, "was not told:", one.error_code)
        offset = max(one.committed_offset, 0)
        ledger.on_read(offset, floor, is_certain=told.is_certain)
        self.groups.seen.fetches += 1
        self.groups.seen.certain_fetches += told.is_certain
        return offset


class SimCommitter(GroupClient):
    """Commits what it likes: a group without members."""

    async def run(self) -> None:
        rng = self.machine.rng
        offset = 0
        while not self.stage.is_over:
            offset += 1
            await self._commit(offset)
            await asyncio.sleep(rng.randrange(40, 160) / 1000)
        self.is_done = True

    async def _commit(self, offset: int) -> None:
        while True:
            try:
                error = await self.commit(offset, 0, ("", -1))
                if error is ErrorCode.NONE:
                    return
                check(self.has_moved(error), self.group_id, "was refused:", error.name)
            except Unanswered:
                pass
            await asyncio.sleep(RETRY_S)


class SimOffsetReader(GroupClient):
    """Reads what others commit, of one group after the other."""

    def __init__(self, machine: SimMachine, stage: GroupStage) -> None:
        super().__init__(machine, stage, "")

    async def run(self) -> None:
        rng = self.machine.rng
        while not self.stage.is_over:
            await asyncio.sleep(rng.randrange(20, 120) / 1000)
            known = list(self.groups.offsets)
            if known:
                self.group_id, partition = known[rng.randrange(len(known))]
                self._coordinator = None
                with suppress(Unanswered):
                    await self.fetch(partition)
        self.is_done = True
