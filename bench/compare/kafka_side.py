"""Apache Kafka as its own scripts start it: their heap and collector, broker and controller in one.

Three nodes get smaller heaps, so that they fit beside their clients.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from bench.compare.cluster import KAFKA, Cluster, Side, wait_answered
from tests.support.external import JavaRuntime
from tests.support.kafka_node import CLUSTER_ID, free_ports
from tests.support.process import running

_START_TIMEOUT_S: Final = 60
# What bin/kafka-run-class.sh gives to a server.
_JVM_FLAGS: Final = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)
HEAP: Final = {1: "1G", 3: "768m"}

_PROPERTIES: Final = """\
process.roles=broker,controller
node.id={node_id}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor={replicas}
transaction.state.log.replication.factor={replicas}
group.initial.rebalance.delay.ms=0
log.segment.delete.delay.ms=1000
"""


def kafka_side(java: JavaRuntime) -> Side:
    @contextmanager
    def running_kafka(directory: Path, count: int) -> Iterator[Cluster]:
        files = formatted(java, directory, count)
        with ExitStack() as stack:
            children = []
            for node_id, properties in enumerate(files, 1):
                command = server_command(java, HEAP[count], str(properties))
                log = directory / f"kafka-{node_id}.out"
                children.append(stack.enter_context(running(command, log)))
            ports = [port_in(properties) for properties in files]
            for child, port in zip(children, ports, strict=True):
                wait_answered(child, port, _START_TIMEOUT_S)
            yield Cluster(KAFKA, children, ports)
            for child in children:
                child.process.terminate()
            for child in children:
                child.stop()

    return Side(KAFKA, running_kafka)


def server_command(java: JavaRuntime, heap: str, properties: str) -> list[str]:
    flags = (f"-Xmx{heap}", f"-Xms{heap}", *_JVM_FLAGS)
    return [str(java.program), *flags, "-cp", str(java.jars / "*"), "kafka.Kafka", properties]


def formatted(java: JavaRuntime, directory: Path, count: int, extra: str = "") -> list[Path]:
    """The properties of each node."""
    files = [directory / f"server-{node_id}.properties" for node_id in range(1, count + 1)]
    if files[0].exists():
        return files
    ports = free_ports(2 * count)
    voters = ",".join(f"{i}@127.0.0.1:{ports[count + i - 1]}" for i in range(1, count + 1))
    for node_id, file in enumerate(files, 1):
        file.write_text(
            _PROPERTIES.format(
                node_id=node_id,
                voters=voters,
                port=ports[node_id - 1],
                controller_port=ports[count + node_id - 1],
                data=directory / f"data-{node_id}",
                replicas=count,
            )
            + extra
        )
        java.run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(file))
    return files


def port_in(properties: Path) -> int:
    return int(properties.read_text().partition("PLAINTEXT://127.0.0.1:")[2].partition(",")[0])
