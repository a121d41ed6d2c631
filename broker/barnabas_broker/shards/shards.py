"""All shards of one kind that this broker owns.

A shard is owned from the moment at which the metadata make this broker its leader. Its session with
a coordinator is for `leases` to open, and to open again after it has ended.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.shards.shard_owner import OwnerParts, Phase, ShardOwner
from barnabas_core.wire.error_code import ErrorCode

if TYPE_CHECKING:
    from barnabas_broker.shards.leases import Leases

_OPEN_WAIT_S: Final = 0.01
_OPEN_WAITS: Final = 100


@dataclass(frozen=True, slots=True)
class ShardParts:
    view: ClusterView
    partitions: Partitions
    owner: OwnerParts
    make_leases: "Callable[[Mapping[int, ShardOwner]], Leases]"
    """Called with the first shard: many who start a broker never have one."""


class Shards:
    def __init__(self, topic: str, on: ShardParts) -> None:
        self.topic = topic
        self._on = on
        self._owners: dict[int, ShardOwner] = {}
        self._leases: Leases | None = None
        self._changed = asyncio.Event()

    def __iter__(self) -> Iterator[ShardOwner]:
        return iter([self._owners[index] for index in sorted(self._owners)])

    @property
    def count(self) -> int:
        """How many shards there are in all; 0 while the topic does not exist."""
        topic = self._on.view.topic(self.topic)
        return 0 if topic is None else len(topic.partitions)

    def owner(self, index: int) -> ShardOwner | None:
        found = self._owners.get(index)
        return found if found is not None and found.is_current else None

    async def wait_open(self, index: int) -> None:
        """Give a new shard a moment: clients that are refused come back seconds later."""
        for _ in range(_OPEN_WAITS):
            owner = self._owners.get(index)
            if owner is not None and owner.phase is Phase.OPEN:
                return
            await asyncio.sleep(_OPEN_WAIT_S)

    def apply(self) -> None:
        """Partitions were made, led or given up."""
        for index, owner in list(self._owners.items()):
            if not owner.is_current:
                del self._owners[index]
                owner.end(ErrorCode.NOT_COORDINATOR)
            else:
                owner.on_metadata()
        for index in range(self.count):
            partition = self._on.partitions.find(self.topic, index)
            if partition is None or index in self._owners:
                continue
            if partition.is_leader and not partition.log.is_offline:
                self._owners[index] = ShardOwner(partition, self._on.owner)
        self._changed.set()
        if self._leases is not None:
            self._leases.wake()

    async def run(self) -> None:
        while not self._owners:
            self._changed.clear()
            await self._changed.wait()
        self._leases = self._on.make_leases(self._owners)
        await self._leases.run()
