"""Clients of simulated brokers: what all of them share, and an idempotent producer.

They speak Kafka's protocol over simulated sockets, and retry as clients do.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from barnabas_core.ports.link import Address
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.schema import Message
from tests.sim.cluster_ledger import ClusterCount, PartitionLedger, Value
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine
from tests.sim.sim_sockets import ClientEnd, SocketBroken, connect

M = TypeVar("M", bound=Message)

TOPIC = "records"
TIMEOUT_S = 2.0
RETRY_S = 0.05
METADATA_VERSION = 12
PRODUCE_VERSION = 11
# An answer after which nothing else can be but that something acknowledged was lost.
IMPOSSIBLE = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)


class Unanswered(Exception):
    """No answer in time, or no connection."""


@dataclass(slots=True)
class Stage:
    """What all clients of a run share."""

    brokers: Sequence[Address]
    partition_count: int
    count: ClusterCount = field(default_factory=ClusterCount)
    ledgers: list[PartitionLedger] = field(default_factory=list)
    topic_configs: dict[str, str] = field(default_factory=dict)
    deletes_records: bool = False
    """Whether an administrator does."""
    is_over: bool = False

    def __post_init__(self) -> None:
        self.ledgers = [
            PartitionLedger(f"{TOPIC}-{index}", self.count) for index in range(self.partition_count)
        ]


class SimClient:
    def __init__(self, machine: SimMachine, stage: Stage) -> None:
        self.machine = machine
        self.stage = stage
        self.is_done = False
        """It has nothing more to ask for."""
        self._sockets: dict[Address, ClientEnd] = {}
        self._correlation_id = 0
        self._leaders: dict[int, Address] = {}
        self.epochs: dict[int, int] = {}
        """The newest leader epochs heard of: older metadata is not believed (KIP-320)."""
        self.nodes: dict[int, Address] = {}
        self.topic_ids: dict[str, bytes] = {}

    async def ask(self, address: Address, request: Message, version: int, response: type[M]) -> M:
        socket = self._sockets.get(address)
        if socket is None or socket.ended is not None:
            socket = self._sockets[address] = connect(self.machine, address)
        self._correlation_id += 1
        parts = encode_request(request, version, self._correlation_id, "sim")
        try:
            socket.send_frame(b"".join(cast("list[bytes]", parts))[4:])
            async with asyncio.timeout(TIMEOUT_S):
                frame = await socket.receive_frame()
        except (SocketBroken, TimeoutError) as error:
            # What comes after all would answer another request.
            self._sockets.pop(address, None)
            await self._abandon(socket)
            raise Unanswered(str(error)) from error
        header, message = decode_response(response, version, frame)
        check(header.correlation_id == self._correlation_id, "an answer to another request")
        return message

    async def _abandon(self, socket: ClientEnd) -> None:
        await socket.close()

    def any_broker(self) -> Address:
        return self.stage.brokers[self.machine.rng.randrange(len(self.stage.brokers))]

    async def leader(self, index: int) -> Address:
        found = self._leaders.get(index)
        if found is None:
            await self._refresh()
            found = self._leaders.get(index)
        if found is None:
            raise Unanswered("nobody leads it")
        return found

    def forget_leader(self, index: int) -> None:
        self._leaders.pop(index, None)

    async def _refresh(self) -> None:
        request = MetadataRequest([MetadataRequestTopic(name=TOPIC)], False)
        metadata = await self.ask(self.any_broker(), request, METADATA_VERSION, MetadataResponse)
        nodes = {node.node_id: Address(node.host, node.port) for node in metadata.brokers}
        self.nodes.update(nodes)
        for topic in metadata.topics:
            self.topic_ids[TOPIC] = topic.topic_id
            for partition in topic.partitions:
                known = self.epochs.get(partition.partition_index, -1)
                if partition.leader_id in nodes and partition.leader_epoch >= known:
                    self.epochs[partition.partition_index] = partition.leader_epoch
                    self._leaders[partition.partition_index] = nodes[partition.leader_id]


class SimProducer(SimClient):
    def __init__(self, machine: SimMachine, stage: Stage, number: int) -> None:
        super().__init__(machine, stage)
        self._number = number
        self.producer_id = -1
        self._sequences = [0] * stage.partition_count
        self._next = 0

    async def run(self) -> None:
        while self.producer_id < 0:
            try:
                answer = await self.ask(
                    self.any_broker(), InitProducerIdRequest(None), 3, InitProducerIdResponse
                )
                if not answer.error_code:
                    self.producer_id = answer.producer_id
            except Unanswered:
                pass
            await asyncio.sleep(RETRY_S)
        rng = self.machine.rng
        while not self.stage.is_over:
            await self._write(rng.randrange(self.stage.partition_count), 1 + rng.randrange(4))
            await asyncio.sleep(rng.randrange(60) / 1000)
        self.is_done = True

    async def _write(self, index: int, count: int) -> None:
        values: list[Value] = [(self._number, self._next + place) for place in range(count)]
        self._next += count
        ledger = self.stage.ledgers[index]
        ledger.on_asked(values)
        base_offset = await self._deliver(index, values)
        self._sequences[index] += count
        ledger.on_acknowledged(values, base_offset)

    async def _deliver(self, index: int, values: list[Value]) -> int:
        while True:
            try:
                leader = await self.leader(index)
                answer = await self.ask(
                    leader, self._request(index, values), PRODUCE_VERSION, ProduceResponse
                )
            except Unanswered:
                self.forget_leader(index)
            else:
                part = answer.responses[0].partition_responses[0]
                error = ErrorCode(part.error_code)
                if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    return part.base_offset if error is ErrorCode.NONE else -1
                check(error not in IMPOSSIBLE, TOPIC, index, values, "refused:", error.name)
                self.forget_leader(index)
            self.stage.count.retried += 1
            await asyncio.sleep(RETRY_S)

    def _request(self, index: int, values: list[Value]) -> ProduceRequest:
        batch = build_batch(
            [(None, f"{producer}:{number}".encode()) for producer, number in values],
            timestamp_ms=self.machine.clock.now_ms(),
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=self._sequences[index],
        )
        data = PartitionProduceData(index, batch)
        topics = [TopicProduceData(TOPIC, partition_data=[data])]
        return ProduceRequest(None, -1, 1_000, topics)
