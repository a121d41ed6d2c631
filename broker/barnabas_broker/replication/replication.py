"""Both sides of replication in one broker: it leads some partitions and follows others."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.replication.followers import Followers
from barnabas_broker.replication.isr_keeper import IsrKeeper, IsrParts
from barnabas_broker.replication.leader_stream import FollowerParts
from barnabas_broker.replication.replica_service import ReplicaService
from barnabas_broker.replication.replication_traffic import ReplicationTraffic
from barnabas_broker.replication.subscription import LeaderParts
from barnabas_broker.replication.throttle import ReplicationThrottle
from barnabas_broker.storage import Storage
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports import Clock, Executor
from barnabas_core.ports.link import Links, Purpose, Service
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor, TaskList

# Partitions that are looked at before the loop gets its turn.
_STRIDE: Final = 256


@dataclass(frozen=True, slots=True)
class ReplicationConfig:
    lag_ms_max: int = 30_000
    """`replica.lag.time.max.ms`: a replica that was not at the end for so long leaves the ISR."""
    chunk_bytes_max: int = 1024 * 1024
    """`replica.fetch.max.bytes`."""


@dataclass(frozen=True, slots=True)
class ReplicationParts:
    view: ClusterView
    storage: Storage
    membership: ControllerClient
    links: Links
    clock: Clock
    executor: Executor
    tasks: TaskList
    log: EventLog
    broker_epoch: Callable[[], int]
    topic_configs: Callable[[str], Mapping[str, str]]
    """A topic's own, as text; also of the image that is just being applied."""


class Replication:
    def __init__(self, config: ReplicationConfig, on: ReplicationParts) -> None:
        self._config = config
        self._partitions = on.storage.partitions
        self.isr = IsrKeeper(
            IsrParts(on.membership, on.view, on.clock, on.log, on.broker_epoch, config.lag_ms_max)
        )
        self.throttle = ReplicationThrottle(on.topic_configs)
        self.traffic = ReplicationTraffic()
        leader_parts = LeaderParts(
            on.storage.partitions,
            self.isr,
            on.clock,
            on.executor,
            self.throttle,
            self.traffic,
            config.chunk_bytes_max,
        )
        self.services: dict[Purpose, Service] = {
            lane: ReplicaService(on.view, on.tasks, leader_parts)
            for lane in (Purpose.REPLICA, Purpose.CATCH_UP)
        }
        self.followers = Followers(
            FollowerParts(
                on.links,
                on.storage.partitions,
                on.storage.writer,
                on.storage.truncate,
                on.broker_epoch,
                self.throttle,
                self.traffic,
                on.view.node_id,
                on.clock,
                on.log,
            )
        )

    def start(self, supervisor: Supervisor) -> None:
        supervisor.start("isr", self.isr.run)
        supervisor.every("isr check", self._config.lag_ms_max // 2, self._check)

    async def close(self) -> None:
        await self.followers.close()

    async def on_brokers_changed(self, broker_ids: Iterable[int]) -> None:
        """One that is live now may be at the end of partitions to which nobody writes any more."""
        changed = set(broker_ids)
        if changed:
            await self._look_at(lambda replicas: not changed.isdisjoint(replicas))

    async def _check(self) -> None:
        """Is anybody too far behind?"""
        await self._look_at(lambda replicas: len(replicas) > 1)

    async def _look_at(self, is_meant: Callable[[Collection[int]], bool]) -> None:
        """At partitions that are led here, by their replicas."""
        for number, partition in enumerate(list(self._partitions)):
            if number % _STRIDE == 0:
                await asyncio.sleep(0)
            leadership = partition.leadership
            if leadership is not None and is_meant(leadership.replicas):
                self.isr.look_at(partition)
