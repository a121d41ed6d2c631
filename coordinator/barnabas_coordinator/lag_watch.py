"""How far the groups of this coordinator are behind: their commits beside the ends of the logs.

The ends are known to the brokers that lead the partitions. They are asked from time to time, and
what was found then is told at every scrape: so lag is as old as the last round, and no scrape waits
for a broker. A partition whose leader does not answer has no lag for the time being.

There may be a million commits. As many as the bound says are looked at, the groups that came first
first; of the rest it is told how many they are.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.lag_history import LagHistory
from barnabas_core.metadata.image import Image
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Call, Link, LinkError, Links, Purpose
from barnabas_core.raft.internal_address import INTERNAL_LISTENER
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse

_INTERVAL_S: Final = 10.0
_TIMEOUT_MS: Final = 5_000
_ASKED_AT_ONCE: Final = 1_000
_STRIDE: Final = 500
_LATEST: Final = -1
_VERSION: Final = 7

Partition = tuple[str, int]
"""(topic, index)"""


class Commit(NamedTuple):
    group: str
    topic: str
    partition: int
    offset: int


class Lag(NamedTuple):
    commit: Commit
    records: int | None
    """None: nobody knows where the log ends."""
    seconds: float | None


@dataclass(frozen=True, slots=True)
class LagParts:
    shards: Callable[[], Iterable[GroupShard]]
    image: Callable[[], Image]
    links: Links
    clock: Clock
    commits_max: int
    """How many commits are looked at: `metrics.group.partitions.max`."""


class LagWatch:
    """`run` as a task; `lags` is what the last round has found."""

    def __init__(self, on: LagParts) -> None:
        self._on = on
        self._links: dict[Address, Link] = {}
        self._histories: dict[Partition, LagHistory] = {}
        self.lags: Sequence[Lag] = ()
        self.left_out_count = 0

    async def run(self) -> None:
        try:
            while True:
                await self.look()
                await asyncio.sleep(_INTERVAL_S)
        finally:
            for link in self._links.values():
                await link.close()

    async def look(self) -> None:
        commits = await self._commits()
        ends = await self._ends(dict.fromkeys((one.topic, one.partition) for one in commits))
        now_ms = self._on.clock.monotonic_ms()
        histories: dict[Partition, LagHistory] = {}
        for at, end in ends.items():
            history = histories[at] = self._histories.get(at) or LagHistory()
            history.see(end, now_ms)
        self._histories = histories
        lags: list[Lag] = []
        for start in range(0, len(commits), _STRIDE):
            some = commits[start : start + _STRIDE]
            lags += [_lag(commit, ends, histories, now_ms) for commit in some]
            await asyncio.sleep(0)
        self.lags = lags

    async def _commits(self) -> list[Commit]:
        commits: list[Commit] = []
        left_out = 0
        for shard in list(self._on.shards()):
            offsets = shard.state.offsets
            for number, group in enumerate(offsets.group_ids()):
                for topic, partitions in offsets.topics(group).items():
                    room = self._on.commits_max - len(commits)
                    left_out += max(len(partitions) - room, 0)
                    commits += [
                        Commit(group, topic, partition, committed[0])
                        for partition, committed in islice(partitions.items(), room)
                    ]
                if number % _STRIDE == 0:
                    await asyncio.sleep(0)
        self.left_out_count = left_out
        return commits

    async def _ends(self, wanted: Iterable[Partition]) -> dict[Partition, int]:
        image = self._on.image()
        by_leader: dict[Address, list[Partition]] = {}
        for topic, index in wanted:
            address = _leader_of(image, topic, index)
            if address is not None:
                by_leader.setdefault(address, []).append((topic, index))
        await self._forget_links(by_leader)
        ends: dict[Partition, int] = {}
        for address, partitions in by_leader.items():
            for start in range(0, len(partitions), _ASKED_AT_ONCE):
                try:
                    ends |= await self._ask(address, partitions[start : start + _ASKED_AT_ONCE])
                except LinkError:
                    break
        return ends

    async def _ask(
        self, address: Address, partitions: Sequence[Partition]
    ) -> Mapping[Partition, int]:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = self._on.links.open(Purpose.LOG_END, address)
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, index in partitions:
            asked = ListOffsetsPartition(index, timestamp=_LATEST)
            by_topic.setdefault(topic, []).append(asked)
        topics = [ListOffsetsTopic(name, asked) for name, asked in by_topic.items()]
        body = encode(ListOffsetsRequest(topics=topics), _VERSION)
        answer = await link.call(Call(ApiKey.LIST_OFFSETS, _VERSION, body), _TIMEOUT_MS)
        response = decode(ListOffsetsResponse, _VERSION, bytes(answer))
        return {
            (topic.name, one.partition_index): one.offset
            for topic in response.topics
            for one in topic.partitions
            if not one.error_code
        }

    async def _forget_links(self, still: Mapping[Address, object]) -> None:
        for address in [one for one in self._links if one not in still]:
            await self._links.pop(address).close()


def _lag(
    commit: Commit,
    ends: Mapping[Partition, int],
    histories: Mapping[Partition, LagHistory],
    now_ms: int,
) -> Lag:
    at = commit.topic, commit.partition
    end = ends.get(at)
    if end is None:
        return Lag(commit, None, None)
    return Lag(
        commit, max(end - commit.offset, 0), histories[at].age_ms(commit.offset, now_ms) / 1000
    )


def _leader_of(image: Image, topic: str, index: int) -> Address | None:
    found = image.topics.named(topic)
    partition = None if found is None else found.partitions.get(index)
    broker = None if partition is None else image.cluster.brokers.get(partition.leader)
    listener = None if broker is None else broker.listener(INTERNAL_LISTENER)
    return None if listener is None else Address(listener.host, listener.port)
