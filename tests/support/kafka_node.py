"""One node of Apache Kafka itself, broker and controller in one, on loopback.

Its directories are what our log has to open, and its answers are what ours are held against.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.external import JavaRuntime
from tests.support.process import Child, running

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, no two the same."""
    with ExitStack() as sockets:
        held = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]


class KafkaNode:
    """Formatted once; `running` may be entered again, on the same data."""

    def __init__(self, java: JavaRuntime, directory: Path, extra: str = "") -> None:
        self.java = java
        self.directory = directory
        self.data = directory / "data"
        self.port, controller_port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.properties = directory / "server.properties"
        self.properties.write_text(
            PROPERTIES.format(port=self.port, controller_port=controller_port, data=self.data)
            + extra
        )
        config = ("-t", CLUSTER_ID, "-c", str(self.properties))
        java.run("kafka.tools.StorageTool", "format", *config)

    @contextmanager
    def running(self) -> Iterator[Child]:
        """A started node that answers; whoever wants an orderly end calls `stop` on it."""
        command = self.java.command("kafka.Kafka", str(self.properties))
        with running(command, self.directory / "kafka.out") as child:
            self._wait_until_ready(child)
            yield child

    def _wait_until_ready(self, child: Child) -> None:
        admin = self.admin()
        give_up_at = time.monotonic() + 60
        while time.monotonic() < give_up_at:
            assert child.process.poll() is None, f"Kafka ended early:\n{child.output()}"
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                continue
        raise AssertionError(f"Kafka does not answer:\n{child.output()}")

    def admin(self) -> AdminClient:
        # Attempts before the node listens would fill the screen with refusals.
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, config: dict[str, str], partitions: int = 1) -> None:
        topic = NewTopic(name, partitions, 1, config=config)
        admin = self.admin()  # kept: a client that is collected answers nobody
        admin.create_topics([topic])[name].result(30)
