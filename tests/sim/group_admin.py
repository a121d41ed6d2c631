"""An administrator of simulated groups: makes their topic larger, and shards change leaders."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from barnabas_broker.shards.internal_topic import GROUP_TOPIC
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas_core.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from barnabas_core.wire.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas_core.wire.messages.create_partitions_response import CreatePartitionsResponse
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.elect_leaders_request import ElectLeadersRequest
from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse
from tests.sim.cluster_clients import RETRY_S, TOPIC, SimClient, Unanswered
from tests.sim.group_clients import GroupStage
from tests.sim.sim_machine import SimMachine

PARTITION_COUNT_MAX = 8


class GroupAdministrator(SimClient):
    def __init__(self, machine: SimMachine, stage: GroupStage, broker_ids: Sequence[int]) -> None:
        super().__init__(machine, stage)
        self._stage = stage
        self._broker_ids = list(broker_ids)

    async def create(self) -> None:
        """The topic that everybody consumes; nobody writes to it."""
        request = CreateTopicsRequest([CreatableTopic(TOPIC, self.stage.partition_count, 1)], 1_000)
        done = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        while True:
            with suppress(Unanswered):
                answer = await self.ask(self.any_broker(), request, 7, CreateTopicsResponse)
                if answer.topics[0].error_code in done:
                    return
            await asyncio.sleep(RETRY_S)

    async def run(self) -> None:
        rng = self.machine.rng
        while not self._stage.is_calm:
            await asyncio.sleep(rng.randrange(300, 2_000) / 1000)
            with suppress(Unanswered):
                await self._do(rng.randrange(8))
        self.is_done = True

    async def _do(self, what: int) -> None:
        if what == 0:
            await self._enlarge()
        elif what < 5:
            await self._prefer_another()
        else:
            request = ElectLeadersRequest(0, None, 1_000)
            await self.ask(self.any_broker(), request, 2, ElectLeadersResponse)

    async def _enlarge(self) -> None:
        count = 1 + self.stage.partition_count
        if count > PARTITION_COUNT_MAX:
            return
        topic = CreatePartitionsTopic(TOPIC, count, None)
        request = CreatePartitionsRequest([topic], 1_000)
        answer = await self.ask(self.any_broker(), request, 3, CreatePartitionsResponse)
        if not answer.results[0].error_code:
            self.stage.partition_count = count

    async def _prefer_another(self) -> None:
        """To lead a shard: an election then makes it so. One replica less is a new epoch."""
        rng = self.machine.rng
        rng.shuffle(self._broker_ids)
        wanted = ReassignablePartition(0, self._broker_ids[: 2 + rng.randrange(2)])
        topics = [ReassignableTopic(GROUP_TOPIC, [wanted])]
        request = AlterPartitionReassignmentsRequest(1_000, topics=topics)
        await self.ask(self.any_broker(), request, 0, AlterPartitionReassignmentsResponse)
