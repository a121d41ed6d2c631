"""Readers of simulated brokers: each takes every record of every partition once, in its order.

One asks leaders, one keeps fetch sessions (KIP-227), one reads in its own rack (KIP-392). What they
see must be the same.
"""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from barnabas_core.ports.link import Address
from barnabas_core.records.batch import split_batches
from barnabas_core.records.record import iter_records
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse
from tests.sim.cluster_clients import IMPOSSIBLE, RETRY_S, TOPIC, SimClient, Stage, Unanswered
from tests.sim.cluster_ledger import Value
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

FETCH_VERSION = 12
RACK_VERSION = 13
EARLIEST = -2
MAX_BYTES = 500
FOLLOW_COUNT = 40
"""Fetches from a follower before the leader is asked again who is the best."""


class SimReader(SimClient):
    """Reads from leaders, one partition after the other."""

    def __init__(self, machine: SimMachine, stage: Stage) -> None:
        super().__init__(machine, stage)
        self.positions = [0] * stage.partition_count

    async def run(self) -> None:
        rng = self.machine.rng
        while True:
            await self._read_all()
            is_away = not self.stage.is_over and rng.randrange(40) == 0
            await asyncio.sleep(rng.uniform(1, 4) if is_away else RETRY_S)

    async def _read_all(self) -> None:
        for index in range(self.stage.partition_count):
            try:
                await self._read(index)
            except Unanswered:
                self.forget_leader(index)

    async def _read(self, index: int) -> None:
        leader = await self.leader(index)
        request = self._request([FetchTopic(TOPIC, partitions=[self._wanted(index)])])
        answer = await self.ask(leader, request, FETCH_VERSION, FetchResponse)
        await self._take(index, leader, answer.responses[0].partitions[0])

    def _wanted(self, index: int) -> FetchPartition:
        wanted = FetchPartition(index, self.epochs[index], self.positions[index])
        wanted.partition_max_bytes = MAX_BYTES
        return wanted

    def _request(self, topics: list[FetchTopic]) -> FetchRequest:
        isolation_level = self.machine.rng.randrange(2)
        return FetchRequest(
            max_wait_ms=50,
            min_bytes=1,
            isolation_level=isolation_level,
            session_epoch=-1,
            topics=topics,
        )

    async def _take(self, index: int, leader: Address, data: PartitionData) -> None:
        error = ErrorCode(data.error_code)
        check(error not in IMPOSSIBLE, TOPIC, index, "not read:", error.name)
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._skip(index, leader)
        elif error is not ErrorCode.NONE:
            self.forget_leader(index)
        else:
            self._take_records(index, data)

    def _take_records(self, index: int, data: PartitionData) -> None:
        records = bytes(cast("bytes", data.records or b""))
        for offset, value in read_values(records):
            if offset >= self.positions[index]:
                check(offset < data.high_watermark, "read above the high watermark", offset)
                self.stage.ledgers[index].on_read(offset, value, self.positions[index])
                self.positions[index] = offset + 1

    async def _skip(self, index: int, leader: Address) -> None:
        """The leader has nothing there: then it must have deleted it."""
        asked = ListOffsetsPartition(index, self.epochs[index], EARLIEST)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(TOPIC, [asked])])
        answer = await self.ask(leader, request, 5, ListOffsetsResponse)
        found = answer.topics[0].partitions[0]
        if found.error_code:
            self.forget_leader(index)
            return
        position = self.positions[index]
        check(found.offset > position, f"{TOPIC}-{index} has no offset {position} any more")
        self.stage.ledgers[index].on_gone(found.offset)
        self.positions[index] = found.offset


@dataclass(slots=True)
class _Session:
    """With one broker."""

    id: int = 0
    epoch: int = 0
    told: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Partition -> (leader epoch, position), as the broker has it."""


class SessionReader(SimReader):
    """Reads all that a broker leads at once, and says only what is new."""

    def __init__(self, machine: SimMachine, stage: Stage) -> None:
        super().__init__(machine, stage)
        self._sessions: dict[Address, _Session] = {}

    async def _read_all(self) -> None:
        led: dict[Address, list[int]] = {address: [] for address in self._sessions}
        for index in range(self.stage.partition_count):
            try:
                led.setdefault(await self.leader(index), []).append(index)
            except Unanswered:
                continue
        for address, indexes in led.items():
            if indexes or self._sessions[address].told:
                await self._poll(address, indexes)

    async def _poll(self, address: Address, indexes: list[int]) -> None:
        session = self._sessions.setdefault(address, _Session())
        wanted = {index: (self.epochs[index], self.positions[index]) for index in indexes}
        new = [index for index in indexes if session.told.get(index) != wanted[index]]
        gone = [index for index in session.told if index not in wanted]
        topics = [FetchTopic(TOPIC, partitions=list(map(self._wanted, new)))] if new else []
        request = self._request(topics)
        request.session_id, request.session_epoch = session.id, session.epoch
        if gone and session.epoch:
            request.forgotten_topics_data = [ForgottenTopic(TOPIC, partitions=gone)]
        session.told = wanted
        try:
            answer = await self.ask(address, request, FETCH_VERSION, FetchResponse)
        except Unanswered:
            self._sessions[address] = _Session()
            for index in indexes:
                self.forget_leader(index)
            return
        if answer.error_code:
            self._sessions[address] = _Session()  # evicted, or of an earlier life of the broker
            return
        self._go_on(session, answer)
        for topic in answer.responses:
            for data in topic.partitions:
                check(data.partition_index in wanted, "a session answers what nobody asked for")
                try:
                    await self._take(data.partition_index, address, data)
                except Unanswered:
                    self.forget_leader(data.partition_index)

    def _go_on(self, session: _Session, answer: FetchResponse) -> None:
        if answer.session_id:
            self.stage.count.session_polls += session.epoch > 0
            session.id = answer.session_id
            session.epoch += 1
        else:
            session.told, session.id, session.epoch = {}, 0, 0


class RackReader(SimReader):
    """Reads from the replica that the leader names, while that goes well."""

    def __init__(self, machine: SimMachine, stage: Stage, rack: str) -> None:
        super().__init__(machine, stage)
        self._rack = rack
        self._preferred: dict[int, tuple[Address, int]] = {}
        """Partition -> replica, and how often it may be asked."""

    async def _read(self, index: int) -> None:
        leader = await self.leader(index)
        replica, left = self._preferred.pop(index, (leader, 0))
        topic_id = self.topic_ids[TOPIC]
        request = self._request([FetchTopic("", topic_id, [self._wanted(index)])])
        request.rack_id = self._rack
        answer = await self.ask(replica, request, RACK_VERSION, FetchResponse)
        data = answer.responses[0].partitions[0]
        if replica == leader:
            await self._take(index, leader, data)
            if data.preferred_read_replica >= 0 and not data.error_code:
                self._prefer(index, data.preferred_read_replica)
        elif not data.error_code:
            self.stage.count.followers_read += bool(data.records)
            self._take_records(index, data)
            if left:
                self._preferred[index] = (replica, left - 1)

    def _prefer(self, index: int, number: int) -> None:
        preferred = self.nodes.get(number)
        if preferred is None:
            self.forget_leader(index)  # whoever tells of the leader tells where that broker is
        else:
            self._preferred[index] = (preferred, FOLLOW_COUNT)


def read_values(records: bytes) -> list[tuple[int, Value]]:
    found = []
    for position, header in split_batches(records, allow_partial_tail=True):
        for record in iter_records(records, position, header=header):
            producer, number = bytes(record.value or b"").split(b":")
            found.append((record.offset, (int(producer), int(number))))
    return found
