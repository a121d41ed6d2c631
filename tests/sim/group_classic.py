"""Members of a classic group: they join, one of them assigns, all fetch what they have, and commit.

Told to join again they give up everything first (the eager protocol). A generation counts when its
assignment was fetched: until then it is in the memory of a coordinator alone, as with Kafka.
"""

import asyncio
from contextlib import suppress

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse
from barnabas_core.wire.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse
from tests.sim.cluster_clients import RETRY_S, Unanswered
from tests.sim.group_clients import GroupClient, GroupStage, Told
from tests.sim.group_ledger import REBALANCE_S, SESSION_S, GroupCount
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
PROTOCOL_TYPE, PROTOCOL = "sim", "by-turns"
# It has to join again; what it had is not its own any more.
MUST_JOIN = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
)


class ClassicLedger:
    """One classic group: what was assigned in its generations."""

    def __init__(self, name: str, count: GroupCount) -> None:
        self._name = name
        self._count = count
        self.generation = 0
        self._owners: dict[int, str] = {}

    def on_synced(
        self, generation: int, member_id: str, partitions: list[int], *, is_certain: bool
    ) -> None:
        if is_certain:
            before = self.generation
            check(generation >= before, self._name, "is at", generation, "after", before)
        if generation > self.generation:
            self.generation, self._owners = generation, {}
            self._count.generations += 1
        if generation < self.generation:
            return  # of a broker that leads no more
        for number in partitions:
            owner = self._owners.setdefault(number, member_id)
            is_one = owner == member_id
            check(is_one, self._name, number, "has two owners:", owner, member_id)


class SimClassicMember(GroupClient):
    def __init__(
        self, machine: SimMachine, stage: GroupStage, group_id: str, ledger: ClassicLedger
    ) -> None:
        super().__init__(machine, stage, group_id)
        self._ledger = ledger
        self._member_id = ""
        self._forget_generation()

    def _forget_generation(self) -> None:
        self.generation = -1
        self.owned: dict[int, int | None] = {}
        """(partition, the offset up to which it is done), None: not known yet."""

    async def run(self) -> None:
        rng = self.machine.rng
        while not self.stage.is_over:
            with suppress(Unanswered):
                if self.generation < 0:
                    await self._join()
                else:
                    await self._beat()
                    await self._work()
            await asyncio.sleep(rng.randrange(50, 250) / 1000)
            if not self.groups.is_calm and rng.random() < 0.015:
                await self._go(leaves=rng.random() < 0.5)
        self.is_done = True

    # --- joining

    async def _join(self) -> None:
        request = JoinGroupRequest(
            self.group_id,
            int(SESSION_S * 1000),
            int(REBALANCE_S * 1000),
            self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(PROTOCOL, b"")],
        )
        answer, _ = await self.consult(request, JOIN_VERSION, JoinGroupResponse)
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        elif error is ErrorCode.NONE:
            self._member_id = answer.member_id
            await self._sync(answer)
        elif error is not ErrorCode.REBALANCE_IN_PROGRESS:
            check(self.has_moved(error), self.group_id, "could not be joined:", error.name)
            await asyncio.sleep(RETRY_S)

    async def _sync(self, joined: JoinGroupResponse) -> None:
        request = SyncGroupRequest(
            self.group_id, joined.generation_id, self._member_id,
            protocol_type=PROTOCOL_TYPE, protocol_name=PROTOCOL,
        )  # fmt: skip
        if joined.leader == self._member_id:
            request.assignments = self._assign([one.member_id for one in joined.members])
        answer, told = await self.consult(request, SYNC_VERSION, SyncGroupResponse)
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.NONE:
            self._on_synced(joined.generation_id, bytes(answer.assignment), told)
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        elif error not in MUST_JOIN:
            check(self.has_moved(error), self.group_id, "did not assign:", error.name)

    def _assign(self, member_ids: list[str]) -> list[SyncGroupRequestAssignment]:
        shares = {member_id: bytearray() for member_id in member_ids}
        for number in range(self.stage.partition_count):
            shares[member_ids[number % len(member_ids)]].append(number)
        return [SyncGroupRequestAssignment(each, bytes(some)) for each, some in shares.items()]

    def _on_synced(self, generation: int, assignment: bytes, told: Told) -> None:
        partitions = list(assignment)
        self._ledger.on_synced(generation, self._member_id, partitions, is_certain=told.is_certain)
        self.generation = generation
        self.owned = dict.fromkeys(partitions)

    # --- staying and going

    async def _beat(self) -> None:
        request = HeartbeatRequest(self.group_id, self.generation, self._member_id)
        answer, _ = await self.consult(request, HEARTBEAT_VERSION, HeartbeatResponse)
        error = ErrorCode(answer.error_code)
        if error is not ErrorCode.NONE and not self._must_join(error):
            check(self.has_moved(error), self._member_id, "was refused:", error.name)

    def _must_join(self, error: ErrorCode) -> bool:
        if error in MUST_JOIN:
            self._forget_generation()
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        return error in MUST_JOIN

    async def _go(self, *, leaves: bool) -> None:
        members = [MemberIdentity(self._member_id)]
        if leaves and self._member_id:
            with suppress(Unanswered):
                request = LeaveGroupRequest(self.group_id, members=members)
                await self.consult(request, LEAVE_VERSION, LeaveGroupResponse)
        self._member_id = ""
        self._forget_generation()
        await asyncio.sleep(self.machine.rng.randrange(1_500) / 1000)

    async def _work(self) -> None:
        if not self.owned:
            return
        partition = list(self.owned)[self.machine.rng.randrange(len(self.owned))]
        done = self.owned[partition]
        if done is None:
            self.owned[partition] = await self.fetch(partition)
            return
        offset = done + 1
        error = await self.commit(offset, partition, (self._member_id, self.generation))
        if error is ErrorCode.NONE:
            self.owned[partition] = offset
        elif not self._must_join(error):
            check(self.has_moved(error), self._member_id, "could not commit:", error.name)
