"""The `cluster` profile: whole brokers and controllers under a nemesis, one run per seed.

Clients write with acks=all to partitions of three replicas, of which two must be in sync, and read
them, over simulated sockets, while brokers and controllers crash, stop, are cut off and moved, lose
directories, and while records and topics are deleted.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any
from unittest.mock import patch

from barnabas_broker.replication import isr_keeper, leader_stream
from barnabas_core.ports.link import Address
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.schema import Message
from tests.sim.broker_node import BROKER_PORT, DIRECTORIES, BrokerNode
from tests.sim.cluster_admin import SimAdministrator
from tests.sim.cluster_clients import SimProducer, Stage
from tests.sim.cluster_eye import ClusterEye
from tests.sim.cluster_ledger import NO_END
from tests.sim.cluster_nemesis import ClusterNemesis
from tests.sim.cluster_readers import RackReader, SessionReader, SimReader
from tests.sim.cluster_recreation import AGAIN, SimRecreator
from tests.sim.controller_node import (
    CONTROLLER_PORT,
    DIRECTORY,
    ControllerNode,
    voters_argument,
)
from tests.sim.controller_truth import Truth
from tests.sim.invariant import InvariantBroken
from tests.sim.sim_machine import SimMachine, World
from tests.sim.sim_profile import Outcome
from tests.sim.sim_run import run_to_end

CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZX"
QUIET_S = 2.0
FAULTS_S = 10.0
RECOVERY_S = 40.0
RECOVERY_US = int(RECOVERY_S * 1_000_000)
FIRST_BROKER = 11
CLIENTS = 31
WATCH_S = 0.02
MIN_ISR = 2
RACKS = ("east", "west")
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FLOORS = {
    "acknowledged": 230_000,
    "records_read": 650_000,
    "session_polls": 45_000,
    "followers_read": 15_000,
    "leader_changes": 5_000,
    "isr_changes": 10_000,
    "truncations": 600,
    "deletions": 250,
    "skipped": 400,
    "recreations": 2_000,
    "directories_lost": 150,
    "process_crashes": 2_200,
    "machine_crashes": 500,
    "shutdowns": 300,
    "stops": 500,
    "partitions": 800,
    "lonely_leaders": 350,
    "hushed_leaders": 300,
    "all_brokers_down": 120,
    "cut_at_joining": 200,
    "died_when_elected": 250,
    "blackouts": 90,
    "data_losses": 150,
    "tempted": 90,
}
"""Per 1,000 seeds, about half of what is met."""


def run(seed: int, *, is_loud: bool = False) -> Outcome:
    """One seed, start to end; raises what went wrong."""
    return run_to_end(Simulation(seed, is_loud=is_loud), FAULTS_S)


class Simulation:
    def __init__(self, seed: int, *, is_loud: bool) -> None:
        self.world = World(seed, is_loud=is_loud)
        self.truth = Truth()
        self.truth.on_record = self._on_metadata
        self._isrs: dict[tuple[bytes, int], list[int]] = {}
        self.controllers: list[ControllerNode] = []
        self.brokers: list[BrokerNode] = []
        self._form()
        self.eye = ClusterEye(self.truth, self.brokers, self.stage, self.world.rng)
        self.nemesis = ClusterNemesis(
            self.world,
            [node.machine for node in self.controllers],
            [node.machine for node in self.brokers],
            self._find_victim,
            self.eye,
        )
        for machine in self._machines():
            machine.on_down = self.nemesis.on_down
        for broker in self.brokers:
            broker.machine.may_lose_data = partial(self.eye.may_lose_data, broker)
            broker.machine.may_crash = partial(self.eye.may_crash, broker)

    # --- the cluster of this seed

    def _form(self) -> None:
        rng = self.world.rng
        controllers = [
            SimMachine(self.world, number, self._run_controller)
            for number in range(1, 1 + rng.choice((1, 3)))
        ]
        directory_ids = [b"\x40" + rng.randbytes(15) for _ in controllers]
        voters = voters_argument(controllers, directory_ids)
        servers = ",".join(f"{machine.host}:{CONTROLLER_PORT}" for machine in controllers)
        shared = {
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": servers,
            "broker.session.timeout.ms": rng.choice(("900", "1500")),
            "broker.heartbeat.interval.ms": "300",
        }
        for machine in controllers:
            properties = shared | self._controller_properties(machine)
            node = ControllerNode(machine, self.truth, properties, voters, CLUSTER_ID)
            node.format()
            self.controllers.append(node)
        self._make_stage()
        shared |= {
            "replica.lag.time.max.ms": rng.choice(("300", "500", "1500")),
            "replica.fetch.wait.max.ms": "100",
            # With small chunks it takes time to catch up, and much can happen meanwhile.
            "replica.fetch.max.bytes": rng.choice(("100", "300", "1048576")),
        }
        for place in range(len(self.stage.brokers)):
            machine = SimMachine(self.world, FIRST_BROKER + place, self._run_broker)
            machine.rate = rng.uniform(0.9, 1.1)
            machine.skew_ms = rng.randrange(-2_000, 2_000)
            properties = shared | self._broker_properties(machine)
            broker = BrokerNode(machine, properties, CLUSTER_ID, self.stage.count)
            broker.format()
            self.brokers.append(broker)
        self._clients = SimMachine(self.world, CLIENTS, self._run_clients)

    def _make_stage(self) -> None:
        rng = self.world.rng
        count = rng.choice((3, 3, 4, 5))
        hosts = [f"host-{FIRST_BROKER + place}" for place in range(count)]
        addresses = [Address(host, BROKER_PORT) for host in hosts]
        self.stage = stage = Stage(addresses, rng.choice((1, 2, 3)))
        stage.topic_configs["segment.ms"] = rng.choice(("150", "600", "60000"))
        what_goes = rng.choice(("nothing", "nothing", "records", "segments"))
        stage.deletes_records = what_goes == "records"
        if what_goes == "segments":
            stage.topic_configs["retention.bytes"] = rng.choice(("300", "3000"))
            for ledger in stage.ledgers:
                ledger.deletable_end = NO_END
        self._far_behind = rng.choice((10, 10_000))

    def scale(self) -> AbstractContextManager[object]:
        """Times and numbers that are not settings, to scale with those that are."""
        far = self._far_behind
        stack = ExitStack()
        stack.enter_context(patch.multiple(leader_stream, _FAR_BEHIND=far, _NEAR=far // 4))
        stack.enter_context(patch.object(isr_keeper, "_TIMEOUT_MS", 500))
        return stack

    def _machines(self) -> list[SimMachine]:
        controllers = [node.machine for node in self.controllers]
        return controllers + [node.machine for node in self.brokers]

    def _controller_properties(self, machine: SimMachine) -> dict[str, str]:
        return {
            "process.roles": "controller",
            "node.id": str(machine.number),
            "listeners": f"CONTROLLER://{machine.host}:{CONTROLLER_PORT}",
            "log.dirs": DIRECTORY,
            "controller.quorum.election.timeout.ms": "300",
            "controller.quorum.fetch.timeout.ms": "600",
            "controller.quorum.request.timeout.ms": "600",
            "metadata.log.max.record.bytes.between.snapshots": "6000",
        }

    def _broker_properties(self, machine: SimMachine) -> dict[str, str]:
        count = self.world.rng.choice((1, 2, 2))
        checkpoint_ms = self.world.rng.choice(("700", "3000"))
        return {
            "process.roles": "broker",
            "node.id": str(machine.number),
            "listeners": f"PLAINTEXT://{machine.host}:{BROKER_PORT}",
            "log.dirs": ",".join(DIRECTORIES[:count]),
            "broker.rack": RACKS[machine.number % len(RACKS)],
            "replica.selector.class": RACK_AWARE,
            "initial.broker.registration.timeout.ms": "5000",
            "replica.high.watermark.checkpoint.interval.ms": checkpoint_ms,
            "log.retention.check.interval.ms": "500",
            "auto.create.topics.enable": "false",
        }

    # --- its processes

    def _run_controller(self, machine: SimMachine) -> Coroutine[Any, Any, None]:
        return self.controllers[machine.number - 1].run()

    def _run_broker(self, machine: SimMachine) -> Coroutine[Any, Any, None]:
        return self.brokers[machine.number - FIRST_BROKER].run()

    async def _run_clients(self, machine: SimMachine) -> None:
        stage = self.stage
        broker_ids = [node.machine.number for node in self.brokers]
        self.readers = [
            SimReader(machine, stage),
            SessionReader(machine, stage),
            RackReader(machine, stage, RACKS[0]),
        ]
        self.producers = [SimProducer(machine, stage, number) for number in range(2)]
        self.administrator = SimAdministrator(machine, stage, broker_ids)
        self.recreator = SimRecreator(machine, stage)
        works = [self.administrator.run(), self.recreator.run()]
        works += [producer.run() for producer in self.producers]
        works += [reader.run() for reader in self.readers]
        await machine.run_together(*works)

    def _find_victim(self) -> SimMachine | None:
        """Somebody who leads something."""
        leaders = [node.machine for node in self.brokers if node.leads]
        leaders += [node.machine for node in self.controllers if node.is_active]
        return leaders[self.world.rng.randrange(len(leaders))] if leaders else None

    def _on_metadata(self, offset: int, record: Message) -> None:
        self.world.say("metadata", offset, record)
        if not isinstance(record, PartitionChangeRecord):
            return
        self.stage.count.isr_changes += record.isr is not None
        self.stage.count.leader_changes += record.leader >= -1
        joined: list[int] = []
        if record.isr is not None:
            key = record.topic_id, record.partition_id
            before = self._isrs.get(key, record.isr)
            joined = [number for number in record.isr if number not in before]
            self._isrs[key] = record.isr
        self.world.later(0.0, lambda: self._tell_nemesis(record, joined))

    def _tell_nemesis(self, record: PartitionChangeRecord, joined: list[int]) -> None:
        brokers = self.eye.brokers
        partition = self.eye.partition(record.topic_id, record.partition_id)
        if record.leader in brokers:
            self.nemesis.on_elected(brokers[record.leader].machine)
        elif joined and partition is not None and partition.leader in brokers:
            if len(partition.isr) - len(joined) < MIN_ISR:
                return  # nothing is acknowledged anyway
            self.nemesis.on_joined(
                brokers[partition.leader].machine, [brokers[number].machine for number in joined]
            )

    # --- the run

    async def main(self) -> None:
        for machine in self._machines():
            machine.start()
        self._clients.start()
        self._watch()
        await asyncio.sleep(self.world.rng.uniform(0, QUIET_S))
        await self.nemesis.run(FAULTS_S)
        await self._recover()

    def _watch(self) -> None:
        self.eye.watch_log_starts()
        self.eye.watch_commits()
        self.world.later(WATCH_S, self._watch)

    async def _recover(self) -> None:
        """Liveness: without faults every partition is written and read, by all its replicas."""
        stage = self.stage
        goal = stage.count.acknowledged + 10 * stage.partition_count
        while stage.count.acknowledged < goal:
            await self._wait("nothing is acknowledged")
        stage.is_over = True
        clients = [*self.producers, self.administrator, self.recreator]
        while not all(client.is_done for client in clients):
            await self._wait("a client gets no answer")
        while not self.eye.is_settled():
            await self._wait("replicas stay behind")
        ends = [self.eye.end_of(index) for index in range(stage.partition_count)]
        while any(reader.positions != ends for reader in self.readers):
            await self._wait("readers stay behind")
        while not self.eye.is_settled():
            await self._wait("replicas fall behind again")
        self._check_contents()

    def _mend_directories(self) -> None:
        """A directory that failed is back when its broker is started again."""
        for broker in self.brokers:
            terminate = broker.machine.terminate
            if broker.machine.is_running and broker.has_lost_directory and terminate is not None:
                broker.machine.terminate = None
                broker.machine.process.run(terminate)

    def _check_contents(self) -> None:
        for index, ledger in enumerate(self.stage.ledgers):
            for log_start, contents in self.eye.contents(index):
                ledger.check_complete(contents, log_start)
        topic = self.truth.image.topics.named(AGAIN)
        if topic is not None and topic.id in self.recreator.generations:
            for _, contents in self.eye.contents(0, AGAIN):
                self.recreator.generations[topic.id].check_contents(contents, is_all=True)

    async def _wait(self, problem: str) -> None:
        if self.world.loop.now > FAULTS_S + RECOVERY_S:
            raise InvariantBroken(f"{problem}, {RECOVERY_S:.0f} s after the faults")
        self._mend_directories()
        await asyncio.sleep(0.05)

    def coverage(self) -> dict[str, int]:
        counts = (self.stage.count, self.nemesis.count)
        return {name: value for count in counts for name, value in asdict(count).items()}
