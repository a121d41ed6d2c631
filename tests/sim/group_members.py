"""Members of consumer groups, of the new protocol (KIP-848), and somebody who describes them.

A member says what it has, is told what it shall have, gives up what is not among it, takes its time
over that, and says so. Of what it has it reads the committed offset, and commits a higher one.
"""

import asyncio
from contextlib import suppress

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from barnabas_core.wire.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
)
from tests.sim.cluster_clients import RETRY_S, TOPIC, Unanswered
from tests.sim.group_clients import GroupClient, GroupStage, Told
from tests.sim.group_ledger import REBALANCE_S, SESSION_S
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

HEARTBEAT_VERSION = 1
DESCRIBE_VERSION = 1
LEAVE_EPOCH = -1
THROWN_OUT = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
# It knows less than the coordinator: its next heartbeat tells it.
OUTDATED = (*THROWN_OUT, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class SimMember(GroupClient):
    """One place in a group: when a member goes, another one takes it, under another id."""

    def __init__(self, machine: SimMachine, stage: GroupStage, group_id: str, place: int) -> None:
        super().__init__(machine, stage, group_id)
        self._place = place
        self._life = 0
        self.ledger = stage.consumer(group_id)
        self._reset()

    def _reset(self) -> None:
        self._life += 1
        self.member_id = f"{self.group_id}-{self._place}-{self._life}"
        self._lose_everything()

    def _lose_everything(self) -> None:
        self.epoch = 0
        self.owned: dict[int, int | None] = {}
        """(partition, the offset up to which it is done), None: not known yet."""
        self._is_sure = False
        """Whether what it last said has arrived; if not it says everything again."""
        self._lost_answers = 0

    async def run(self) -> None:
        rng = self.machine.rng
        await asyncio.sleep(rng.randrange(1_000) / 1000)
        while not self.stage.is_over:
            with suppress(Unanswered):
                await self._beat()
            for _ in range(rng.randrange(3)):
                await asyncio.sleep(rng.randrange(100) / 1000)
                with suppress(Unanswered):
                    await self._work()
            await asyncio.sleep(rng.randrange(50, 250) / 1000)
            if not self.groups.is_calm and rng.random() < 0.02:
                await self._go(leaves=rng.random() < 0.5)
        self.is_done = True

    # --- heartbeats

    async def _beat(self) -> None:
        request = self._request()
        try:
            answer, told = await self.consult(
                request, HEARTBEAT_VERSION, ConsumerGroupHeartbeatResponse
            )
        except Unanswered:
            self._is_sure = False
            self._lost_answers += 1
            raise
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.NONE:
            await self._on_answer(request, answer, told)
        elif error in THROWN_OUT:
            self._on_thrown_out(error, told)
        elif error is not ErrorCode.GROUP_ID_NOT_FOUND:
            check(self.has_moved(error), self.member_id, "was refused:", error.name)
            self._is_sure = False
            await self._back_off()
        else:
            # The group is gone, and with it all its members.
            self._on_thrown_out(error, told)

    async def _back_off(self) -> None:
        """Some take long to come again: they have a session for it, refused or not."""
        rng = self.machine.rng
        if not self.groups.is_calm and rng.random() < 0.5:
            await asyncio.sleep(rng.uniform(1.0, SESSION_S))

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(self.group_id, self.member_id, self.epoch)
        if not self.epoch or not self._is_sure:
            request.rebalance_timeout_ms = int(REBALANCE_S * 1000)
            request.subscribed_topic_names = [TOPIC]
            request.topic_partitions = self._said()
        return request

    def _said(self) -> list[TopicPartitions]:
        topic_id = self.groups.topic_id()
        return [TopicPartitions(topic_id, list(self.owned))] if self.owned else []

    async def _on_answer(
        self,
        request: ConsumerGroupHeartbeatRequest,
        answer: ConsumerGroupHeartbeatResponse,
        told: Told,
    ) -> None:
        before = request.member_epoch
        epoch = answer.member_epoch
        check(epoch >= before, self.member_id, "is at", epoch, "after", before)
        self.groups.seen.heartbeats += 1
        self.groups.seen.joins += before == 0
        self.epoch, self._is_sure, self._lost_answers = answer.member_epoch, True, 0
        if told.is_certain:
            self.ledger.on_answered(self.member_id, told.sent_at)
        if answer.assignment is not None:
            await self._take(answer.assignment, told)

    async def _take(self, assignment: Assignment, told: Told) -> None:
        wanted = [number for one in assignment.topic_partitions for number in one.partitions]
        added = [number for number in wanted if number not in self.owned]
        revoked = [number for number in self.owned if number not in wanted]
        self.groups.seen.rebalances += bool(added or revoked)
        self.owned.update(dict.fromkeys(added))
        if told.is_certain:
            self.ledger.on_told(self.member_id, added, self.now)
        if revoked:
            self.ledger.on_must_revoke(self.member_id, self.now)
            await asyncio.sleep(self.machine.rng.randrange(300) / 1000)
            for number in revoked:
                del self.owned[number]
            self.ledger.on_given_up(self.member_id, revoked)
        # What it has now it says with its next heartbeat.
        self._is_sure = self._is_sure and not (added or revoked)

    def _on_thrown_out(self, error: ErrorCode, told: Told) -> None:
        if told.is_certain and self.epoch:
            lost = self._lost_answers if error is ErrorCode.FENCED_MEMBER_EPOCH else 0
            self.ledger.on_thrown_out(self.member_id, self.now, lost_answers=lost)
        self.ledger.on_gone(self.member_id)
        self._lose_everything()

    async def _go(self, *, leaves: bool) -> None:
        """Leave, or just be gone; then another one comes."""
        self.ledger.on_gone(self.member_id)
        if leaves:
            request = ConsumerGroupHeartbeatRequest(self.group_id, self.member_id, LEAVE_EPOCH)
            with suppress(Unanswered):
                await self.consult(request, HEARTBEAT_VERSION, ConsumerGroupHeartbeatResponse)
        self._reset()
        await asyncio.sleep(self.machine.rng.randrange(2_000) / 1000)

    # --- offsets

    async def _work(self) -> None:
        if not self.owned:
            return
        partition = list(self.owned)[self.machine.rng.randrange(len(self.owned))]
        done = self.owned[partition]
        if done is None:
            self.owned[partition] = await self.fetch(partition, (self.member_id, self.epoch))
            return
        offset = done + 1  # the same again if it is not known whether it was committed
        error = await self.commit(offset, partition, (self.member_id, self.epoch))
        if error is ErrorCode.NONE:
            self.owned[partition] = offset
        elif error not in OUTDATED:
            check(self.has_moved(error), self.member_id, "could not commit:", error.name)

    # --- the end

    @property
    def is_settled(self) -> bool:
        return self.epoch > 0 and self._is_sure


class SimDescriber(GroupClient):
    """Looks at consumer groups from outside."""

    def __init__(self, machine: SimMachine, stage: GroupStage, group_id: str) -> None:
        super().__init__(machine, stage, group_id)
        self.last: DescribedGroup | None = None
        """The last that is certain."""

    async def run(self) -> None:
        while not self.stage.is_over:
            await asyncio.sleep(self.machine.rng.randrange(100, 400) / 1000)
            with suppress(Unanswered):
                await self._describe()
        self.is_done = True

    async def _describe(self) -> None:
        request = ConsumerGroupDescribeRequest([self.group_id])
        answer, told = await self.consult(request, DESCRIBE_VERSION, ConsumerGroupDescribeResponse)
        group = answer.groups[0]
        if group.error_code:
            self.has_moved(ErrorCode(group.error_code))
            await asyncio.sleep(RETRY_S)
            return
        self.groups.seen.described += 1
        self._check_owners(group)
        if told.is_certain:
            ledger = self.groups.consumer(self.group_id)
            ledger.on_epochs(group.group_epoch, group.assignment_epoch)
            self.last = group

    def _check_owners(self, group: DescribedGroup) -> None:
        owners: dict[int, str] = {}
        for member in group.members:
            for topic in member.assignment.topic_partitions:
                for number in topic.partitions:
                    owner = owners.setdefault(number, member.member_id)
                    is_one = owner == member.member_id
                    check(is_one, number, "belongs to", owner, "and to", member.member_id)
