"""Both sides with one node, started so that their coordinators can be started again."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.compare.cluster import BARNABAS, KAFKA, Cluster, wait_answered
from bench.compare.kafka_side import HEAP, formatted, port_in, server_command
from bench.compare.usage import cpu_seconds
from tests.support.cluster_process import ProcessCluster
from tests.support.coordinator_process import CoordinatorNode
from tests.support.external import JavaRuntime
from tests.support.process import Child
from tests.support.serve_process import ServedNode

APART: Final = "Barnabas, processes apart"
_START_TIMEOUT_S: Final = 60
_ONE_NODE: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
{extra}"""


@dataclass(frozen=True, slots=True)
class GroupCluster(Cluster):
    restart: Callable[[], None]
    """End whatever computes for groups, and start it again: all its shards are loaded anew."""
    coordinator: Callable[[], Child]
    """The process that computes for groups, and perhaps for much else."""

    def coordinator_cpu_seconds(self) -> float:
        return cpu_seconds(self.coordinator().process.pid)


@dataclass(frozen=True, slots=True)
class GroupSide:
    name: str
    running: Callable[[Path, str], AbstractContextManager[GroupCluster]]
    """(directory, properties besides those that it has anyway)"""


def kafka_groups(java: JavaRuntime) -> GroupSide:
    @contextmanager
    def running(directory: Path, extra: str) -> Iterator[GroupCluster]:
        (properties,) = formatted(java, directory, 1, extra)
        command = server_command(java, HEAP[1], str(properties))
        port = port_in(properties)
        children: list[Child] = []

        def start() -> None:
            for child in children:
                child.stop()
            children[:] = [Child(command, directory / "kafka.out")]
            wait_answered(children[0], port, _START_TIMEOUT_S)

        try:
            start()
            yield GroupCluster(KAFKA, children, [port], start, lambda: children[0])
        finally:
            for child in children:
                child.kill()

    return GroupSide(KAFKA, running)


def barnabas_groups() -> GroupSide:
    """One process with all roles, as Kafka's node is one."""

    @contextmanager
    def running(directory: Path, extra: str) -> Iterator[GroupCluster]:
        node = ServedNode(directory)
        node.configure(
            _ONE_NODE.format(
                port=node.port, controller_port=node.controller_port, data=node.data, extra=extra
            )
        )
        children: list[Child] = []

        def start() -> None:
            if node.is_running:
                node.kill()
            node.restart()
            assert node.child is not None
            children[:] = [node.child]

        try:
            node.format("--standalone")
            start()
            yield GroupCluster(BARNABAS, children, [node.port], start, lambda: children[0])
        finally:
            if node.is_running:
                node.kill()

    return GroupSide(BARNABAS, running)


def barnabas_apart() -> GroupSide:
    """As containers run it: broker, controller and coordinator are processes of their own."""

    @contextmanager
    def running(directory: Path, extra: str) -> Iterator[GroupCluster]:
        node = CoordinatorNode(directory, 101, extra)
        extra += "offsets.topic.replication.factor=1\ncoordinator.mode=remote\n"
        cluster = ProcessCluster(directory, broker_extra=extra)
        children: list[Child] = []

        def start() -> None:
            if node.is_running:
                node.kill()
            node.start()
            children[:] = [it.child for it in (*cluster.nodes, node) if it.child is not None]

        try:
            cluster.format(controllers=1, brokers=1)
            node.configure(cluster.quorum.servers)
            cluster.start()
            start()
            ports = [broker.port for broker in cluster.brokers.values()]
            yield GroupCluster(APART, children, ports, start, lambda: children[-1])
        finally:
            if node.is_running:
                node.kill()
            cluster.close()

    return GroupSide(APART, running)
