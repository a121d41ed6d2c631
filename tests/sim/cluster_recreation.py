"""A topic that is deleted and made again under the same name, over and over.

Brokers that were down meanwhile still have the log of the earlier one: nothing of it may show up in
the later. Topics are told apart by their ids, here as in the product.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

from barnabas_core.ports.link import Address
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.delete_topics_request import (
    DeleteTopicsRequest,
    DeleteTopicState,
)
from barnabas_core.wire.messages.delete_topics_response import DeleteTopicsResponse
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from tests.sim.cluster_clients import METADATA_VERSION, RETRY_S, SimClient, Stage, Unanswered
from tests.sim.cluster_ledger import Value
from tests.sim.cluster_readers import read_values
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

AGAIN = "again"
BY_ID = 13
"""The version of Produce and Fetch from which on topics are named by their ids."""
RECREATOR = 9
"""Its number as a producer."""


@dataclass(slots=True)
class Generation:
    """One of the topics that had the name."""

    asked: dict[Value, None] = field(default_factory=dict)
    acknowledged: dict[Value, None] = field(default_factory=dict)

    def check_contents(self, contents: dict[int, Value], *, is_all: bool = False) -> None:
        for offset, value in contents.items():
            check(value in self.asked, AGAIN, "has", value, "at", offset, "of an earlier topic")
        if is_all:
            there = set(contents.values())
            for value in self.acknowledged:
                check(value in there, AGAIN, value, "was acknowledged and is gone")


class SimRecreator(SimClient):
    """Writes without sequences: a record may be there twice, but not in two topics."""

    def __init__(self, machine: SimMachine, stage: Stage) -> None:
        super().__init__(machine, stage)
        self.generations: dict[bytes, Generation] = {}
        self._number = 0

    async def run(self) -> None:
        rng = self.machine.rng
        while not self.stage.is_over:
            topic_id = await self._create()
            for _ in range(rng.randrange(1, 12)):
                await self._attempt(self._write(topic_id))
                await self._attempt(self._read(topic_id))
                await asyncio.sleep(rng.randrange(100) / 1000)
            if not self.stage.is_over and await self._delete(topic_id):
                self.stage.count.recreations += 1
        self.is_done = True

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Unanswered:
            await asyncio.sleep(RETRY_S)

    async def _create(self) -> bytes:
        configs = [CreatableTopicConfig("min.insync.replicas", "2")]
        request = CreateTopicsRequest([CreatableTopic(AGAIN, 1, 3, configs=configs)], 1_000)
        while True:
            try:
                await self.ask(self.any_broker(), request, 7, CreateTopicsResponse)
                found = await self._find()
                if found is not None:
                    return found[0]
            except Unanswered:
                pass
            await asyncio.sleep(RETRY_S)

    async def _find(self) -> tuple[bytes, Address | None] | None:
        """The topic that has the name now, as some broker has it, and its leader."""
        request = MetadataRequest([MetadataRequestTopic(name=AGAIN)], False)
        metadata = await self.ask(self.any_broker(), request, METADATA_VERSION, MetadataResponse)
        nodes = {node.node_id: Address(node.host, node.port) for node in metadata.brokers}
        [topic] = metadata.topics
        if topic.error_code or not topic.partitions:
            return None
        self.generations.setdefault(topic.topic_id, Generation())
        return topic.topic_id, nodes.get(topic.partitions[0].leader_id)

    async def _leader_of(self, topic_id: bytes) -> Address:
        found = await self._find()
        if found is None or found[0] != topic_id or found[1] is None:
            raise Unanswered("it is another topic now, or nobody leads it")
        return found[1]

    async def _write(self, topic_id: bytes) -> None:
        generation = self.generations[topic_id]
        self._number += 1
        value = (RECREATOR, self._number)
        batch = build_batch(
            [(None, f"{RECREATOR}:{self._number}".encode())],
            timestamp_ms=self.machine.clock.now_ms(),
        )
        leader = await self._leader_of(topic_id)
        generation.asked[value] = None
        data = [PartitionProduceData(0, batch)]
        request = ProduceRequest(None, -1, 1_000, [TopicProduceData("", topic_id, data)])
        answer = await self.ask(leader, request, BY_ID, ProduceResponse)
        if not answer.responses[0].partition_responses[0].error_code:
            generation.acknowledged[value] = None

    async def _read(self, topic_id: bytes) -> None:
        wanted = FetchPartition(0, -1, 0)
        wanted.partition_max_bytes = 10_000
        topics = [FetchTopic("", topic_id, [wanted])]
        request = FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics)
        answer = await self.ask(await self._leader_of(topic_id), request, BY_ID, FetchResponse)
        data = answer.responses[0].partitions[0]
        if not data.error_code:
            records = bytes(cast("bytes", data.records or b""))
            self.generations[topic_id].check_contents(dict(read_values(records)))

    async def _delete(self, topic_id: bytes) -> bool:
        """False: it is not known whether it was done."""
        request = DeleteTopicsRequest([DeleteTopicState(None, topic_id)], [], 1_000)
        try:
            answer = await self.ask(self.any_broker(), request, 6, DeleteTopicsResponse)
        except Unanswered:
            return False
        return answer.responses[0].error_code == ErrorCode.NONE
