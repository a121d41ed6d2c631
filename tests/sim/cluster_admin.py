"""An administrator of simulated brokers: makes the topic, moves it about, deletes records."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas_core.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from barnabas_core.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas_core.wire.messages.delete_records_response import DeleteRecordsResponse
from barnabas_core.wire.messages.elect_leaders_request import ElectLeadersRequest
from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse
from tests.sim.cluster_clients import RETRY_S, TOPIC, SimClient, Stage, Unanswered
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine


class SimAdministrator(SimClient):
    """Creates the topic, then moves leaders and replicas about."""

    def __init__(self, machine: SimMachine, stage: Stage, broker_ids: Sequence[int]) -> None:
        super().__init__(machine, stage)
        self._broker_ids = list(broker_ids)

    async def run(self) -> None:
        await self._create()
        rng = self.machine.rng
        while not self.stage.is_over:
            await asyncio.sleep(rng.randrange(200, 1_200) / 1000)
            with suppress(Unanswered):
                await self._do(rng.randrange(4), rng.randrange(self.stage.partition_count))
        self.is_done = True

    async def _do(self, what: int, index: int) -> None:
        if what < 2 and self.stage.deletes_records:
            await self._delete_records(index)
        elif what == 3:
            request = ElectLeadersRequest(0, None, 1_000)
            await self.ask(self.any_broker(), request, 2, ElectLeadersResponse)
        else:
            await self._reassign(index)

    async def _create(self) -> None:
        configs = {"min.insync.replicas": "2"} | self.stage.topic_configs
        topic = CreatableTopic(
            TOPIC,
            self.stage.partition_count,
            3,
            configs=[CreatableTopicConfig(*config) for config in configs.items()],
        )
        request = CreateTopicsRequest([topic], 1_000)
        done = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        while True:
            try:
                answer = await self.ask(self.any_broker(), request, 7, CreateTopicsResponse)
                if answer.topics[0].error_code in done:
                    return
            except Unanswered:
                pass
            await asyncio.sleep(RETRY_S)

    async def _reassign(self, index: int) -> None:
        rng = self.machine.rng
        rng.shuffle(self._broker_ids)
        wanted = ReassignablePartition(index, self._broker_ids[:3])
        request = AlterPartitionReassignmentsRequest(
            1_000, topics=[ReassignableTopic(TOPIC, [wanted])]
        )
        await self.ask(self.any_broker(), request, 0, AlterPartitionReassignmentsResponse)

    async def _delete_records(self, index: int) -> None:
        ledger = self.stage.ledgers[index]
        offset = self.machine.rng.randrange(ledger.end + 1)
        ledger.deletable_end = max(ledger.deletable_end, offset)
        leader = await self.leader(index)
        wanted = DeleteRecordsPartition(index, offset)
        request = DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, [wanted])], 1_000)
        answer = await self.ask(leader, request, 2, DeleteRecordsResponse)
        done = answer.topics[0].partitions[0]
        if done.error_code:
            self.forget_leader(index)
        else:
            check(done.low_watermark >= offset, "deleted up to", done.low_watermark, "not", offset)
            self.stage.count.deletions += 1
