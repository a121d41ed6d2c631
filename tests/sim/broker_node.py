"""A simulated broker: the product's `BrokerService`, from a formatted directory on."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from barnabas.storage.format_command import FormatOptions, format_spec
from barnabas.storage.formatting import format_directories
from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_ports import BrokerPorts
from barnabas_broker.lifecycle import RegistrationRefused
from barnabas_broker.node_config import broker_config
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.service import BrokerService
from barnabas_broker.storage import Storage
from barnabas_core.config.server_properties import NodeProperties, load_server_properties
from barnabas_core.log.error import LogError
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import DiskError
from tests.sim.cluster_ledger import ClusterCount
from tests.sim.sim_machine import SimMachine
from tests.sim.sim_ports import SimClock, SimRng
from tests.sim.sim_sockets import SimListener
from tests.sim.virtual_loop import Process

BROKER_PORT = 9_092
DIRECTORIES = ("/logs-a", "/logs-b")


@dataclass(slots=True)
class BrokerNode:
    """What is known of one broker across its processes."""

    machine: SimMachine
    properties: dict[str, str]
    cluster_id: str
    count: ClusterCount
    service: BrokerService | None = None
    incarnation_id: bytes = b""
    """Of its present process."""
    read: NodeProperties = field(init=False)

    def format(self) -> None:
        text = "".join(f"{name}={value}\n" for name, value in self.properties.items())
        self.read = load_server_properties("server.properties", {}, lambda _: text.encode())
        rng = SimRng(self.machine.chance.getrandbits(32))
        clock = SimClock(Process(self.machine.world.loop, self.machine.number))
        spec = format_spec(self.read, FormatOptions(self.cluster_id), rng)
        format_directories(self.machine.disk, rng, clock, spec)

    def partition(self, topic: str, index: int) -> Partition | None:
        """As its present process has it."""
        if not self.machine.is_running or self.service is None:
            return None
        return self.service.storage.partitions.find(topic, index)

    def log(self, topic: str, index: int) -> PartitionLog | None:
        found = self.partition(topic, index)
        return None if found is None or found.log.is_offline else found.log

    @property
    def has_lost_directory(self) -> bool:
        """One of them, and goes on with another."""
        if not self.machine.is_running or self.service is None:
            return False
        return not all(it.is_online for it in self.service.storage.logs.directories)

    @property
    def leads(self) -> bool:
        """Anything at all, as it believes itself."""
        if not self.machine.is_running or self.service is None:
            return False
        return any(partition.is_leader for partition in self.service.storage.partitions)

    async def run(self) -> None:
        """One process, from its start to its end."""
        machine = self.machine
        config, ports = self._make()
        self.service = BrokerService(config, self.incarnation_id, ports)
        self._watch(self.service.storage)
        is_lost = False
        try:
            await self.service.start()
            is_lost = await self._wait_for_end(self.service)
            await self.service.stop()
        except (LogError, DiskError):
            is_lost = True
        except RegistrationRefused:
            pass  # no controller in time: it is started again
        machine.world.later(0.0, lambda: machine.crash(machine=is_lost))

    def _make(self) -> tuple[BrokerConfig, BrokerPorts]:
        machine = self.machine
        links = machine.links(self.cluster_id, "broker")
        self.incarnation_id = links.identity.incarnation_id
        ports = BrokerPorts(
            machine.clock,
            machine.rng,
            machine.disk,
            machine.executor,
            links,
            lambda: SimListener(machine),
            machine.log,
        )
        return broker_config(self.read, self.cluster_id, machine.host), ports

    def _watch(self, storage: Storage) -> None:
        """Count what happens to its logs."""
        truncate_now, on_lost = storage._truncate_now, storage._on_directory_lost

        def count_truncation(log: PartitionLog, offset: int, *rest: Any) -> None:  # noqa: ANN401
            before = log.log_end_offset
            truncate_now(log, offset, *rest)
            self.count.truncations += log.log_end_offset < before

        def count_loss(error: DiskError) -> None:
            on_lost(error)
            self.count.directories_lost += not storage.all_lost.is_set()

        setattr(storage, "_truncate_now", count_truncation)  # noqa: B010
        storage.logs.watch(count_loss)

    async def _wait_for_end(self, service: BrokerService) -> bool:
        """Whether it lost its disk; otherwise it was told to end."""
        end = asyncio.Event()
        self.machine.terminate = end.set
        lost = asyncio.get_running_loop().create_task(service.wait_lost())
        lost.add_done_callback(lambda _: end.set())
        await end.wait()
        is_lost = lost.done()
        lost.cancel()
        return is_lost
