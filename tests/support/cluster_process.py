"""A whole cluster as users run it: controllers and brokers, each a process of its own.

    with cluster_of(tmp_path, controllers=3, brokers=3) as cluster:    # formatted, started, ready
        cluster.create_topic("orders", replicas=3, configs={"min.insync.replicas": "2"})
        leader = cluster.wait_leader("orders")
        cluster.brokers[leader].kill()              # suspend, resume, terminate, stop, start
        cluster.wait_leader("orders", other_than=leader)

Every wait has a deadline. When a test fails, what each node printed is shown. Controllers are
`cluster.quorum[1]` and so on, brokers `cluster.brokers[11]` and so on.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from barnabas_core.log.directories.directory_meta import CLEAN_SHUTDOWN_FILE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
)
from barnabas_core.wire.schema import Message
from tests.support.controller_process import (
    CLUSTER_ID,
    DEADLINE_S,
    HOST,
    ControllerNode,
    Quorum,
    free_controller_port,
    run_storage,
    until,
)
from tests.support.node_process import NodeProcess
from tests.support.raw_client import ConnectionClosed, RawClient, highest_version

FIRST_BROKER = 11
CREATE_TIMEOUT_MS = 10_000
M = TypeVar("M", bound=Message)

PROPERTIES = """\
process.roles=broker
node.id={node_id}
listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={bootstrap}
log.dirs={data}
"""

_STARTED = re.compile(r"\] started\b")


class BrokerNode(NodeProcess):
    """One broker; its links are at `port` + 1000."""

    def __init__(self, directory: Path, node_id: int, extra: str = "") -> None:
        super().__init__(directory, f"broker {node_id}")
        self.id = node_id
        self.port = free_controller_port()
        self.extra = extra
        self.data = self.directory / "data"
        self.log_level = "info"

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.port

    @property
    def server(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def clean_shutdown(self) -> str | None:
        """What the last clean shutdown left; None while it runs, and after a crash."""
        path = self.data / CLEAN_SHUTDOWN_FILE
        return path.read_text() if path.exists() else None

    def command(self) -> list[str]:
        level = ["--log-level", self.log_level]
        return ["-m", "barnabas_broker", "--config", str(self.properties), *level]

    def configure(self, bootstrap: str) -> None:
        text = PROPERTIES.format(
            node_id=self.id, port=self.port, bootstrap=bootstrap, data=self.data
        )
        self.properties.write_text(text + self.extra)

    def format(self) -> None:
        run_storage("format", "-t", CLUSTER_ID, "-c", str(self.properties))

    def wait_started(self, deadline_s: float = DEADLINE_S) -> None:
        """Registered, unfenced, and serving clients."""

        def has_started() -> bool:
            assert self.is_running, f"{self.name} ended:\n{self.output()}"
            assert self.child is not None
            return _STARTED.search(self.child.output()) is not None

        until(has_started, f"{self.name} has started", deadline_s)

    def restart(self) -> None:
        """After its end, whatever that was; returns when it serves."""
        self.start()
        self.wait_started()

    def ask(self, request: Message, response: type[M], timeout_s: float = 15) -> M | None:
        """At the highest version; None where it does not answer."""
        try:
            with RawClient(self.address, timeout_s=timeout_s) as client:
                return client.ask(request, highest_version(request), response)
        except (OSError, ConnectionClosed):
            return None


class ProcessCluster:
    def __init__(self, directory: Path, extra: str = "", broker_extra: str = "") -> None:
        """`extra` is for the server.properties of every node, `broker_extra` for the brokers'."""
        self._directory = directory
        self._broker_extra = extra + broker_extra
        self.quorum = Quorum(directory, extra)
        self.brokers: dict[int, BrokerNode] = {}

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`."""
        return ",".join(broker.server for broker in self.brokers.values())

    @property
    def running_brokers(self) -> list[BrokerNode]:
        return [broker for broker in self.brokers.values() if broker.is_running]

    @property
    def nodes(self) -> list[ControllerNode | BrokerNode]:
        return [*self.quorum.nodes.values(), *self.brokers.values()]

    def format(self, controllers: int, brokers: int) -> None:
        self.quorum.format_initial(controllers)
        for number in range(brokers):
            self.add_broker(FIRST_BROKER + number)

    def add_broker(self, node_id: int, extra: str = "") -> BrokerNode:
        """One more, formatted and not started."""
        broker = BrokerNode(self._directory, node_id, self._broker_extra + extra)
        broker.configure(self.quorum.servers)
        broker.format()
        self.brokers[node_id] = broker
        return broker

    def start(self) -> None:
        """All of them at once: brokers wait for the controllers."""
        for node in self.nodes:
            node.start()
        self.wait_started()

    def wait_started(self, deadline_s: float = DEADLINE_S) -> None:
        """All of them; one that has ended fails the test."""
        for controller in self.quorum.nodes.values():
            controller.wait_answers()
        for broker in self.brokers.values():
            broker.wait_started(deadline_s)

    def kill_all(self) -> None:
        for node in self.nodes:
            if node.is_running:
                node.kill()

    # --- asked, through any broker that answers

    def ask(self, request: Message, response: type[M]) -> M:
        found: list[M] = []

        def is_answered() -> bool:
            assert self.running_brokers, "no broker runs"
            for broker in self.running_brokers:
                answer = broker.ask(request, response, timeout_s=2)
                if answer is not None:
                    found.append(answer)
                    return True
            return False

        until(is_answered, f"a broker answers {type(request).__name__}")
        return found[0]

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Returns when every partition has a leader that all running brokers know of."""
        given = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(name, partitions, replicas, configs=given)
        request = CreateTopicsRequest([topic], timeout_ms=CREATE_TIMEOUT_MS)

        def is_created() -> bool:
            answer = self.ask(request, CreateTopicsResponse).topics[0]
            error = ErrorCode(answer.error_code)
            done = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            retried = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
            assert error in (*done, *retried), f"{error.name}: {answer.error_message}"
            return error in done

        def is_led() -> bool:
            return all(_has_leaders(one, name, partitions) for one in self.running_brokers)

        until(is_created, f"{name} is created")
        until(is_led, f"every broker knows who leads {name}")

    def partition(
        self, topic: str, index: int = 0, by: BrokerNode | None = None
    ) -> MetadataResponsePartition | None:
        """As a broker sees it: `by`, or any."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)], False)
        if by is not None:
            answer = by.ask(request, MetadataResponse, timeout_s=2)
        else:
            answer = self.ask(request, MetadataResponse)
        found = [] if answer is None else answer.topics[0].partitions
        return next((one for one in found if one.partition_index == index), None)

    def wait_leader(
        self,
        topic: str,
        index: int = 0,
        *,
        other_than: int | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> int:
        """The id of the leader, according to a broker that is not `other_than`."""
        found: list[int] = []

        def is_led() -> bool:
            for broker in self.running_brokers:
                seen = None if broker.id == other_than else self.partition(topic, index, broker)
                if seen is not None and seen.leader_id not in (-1, other_than):
                    found.append(seen.leader_id)
                    return True
            return False

        until(is_led, f"{topic}-{index} has a leader other than {other_than}", deadline_s)
        return found[0]

    def wait_isr(
        self, topic: str, ids: set[int], index: int = 0, deadline_s: float = DEADLINE_S
    ) -> None:
        def is_so() -> bool:
            seen = self.partition(topic, index)
            return seen is not None and set(seen.isr_nodes) == ids

        until(is_so, f"the ISR of {topic}-{index} is {ids}", deadline_s)

    # --- the end

    def show(self) -> None:
        for node in self.nodes:
            print(f"===== {node.name} at {node.server}\n{node.output()}")

    def close(self) -> None:
        """Whatever state they are in: SIGKILL ends a stopped process too."""
        self.kill_all()


def _has_leaders(broker: BrokerNode, topic: str, partitions: int) -> bool:
    request = MetadataRequest([MetadataRequestTopic(name=topic)], False)
    answer = broker.ask(request, MetadataResponse, timeout_s=2)
    if answer is None or not answer.topics:
        return False
    found = answer.topics[0].partitions
    return len(found) == partitions and all(one.leader_id >= 0 for one in found)


@contextmanager
def cluster_of(
    directory: Path,
    *,
    controllers: int = 3,
    brokers: int = 3,
    extra: str = "",
    broker_extra: str = "",
    start: bool = True,
    set_up: Callable[[ProcessCluster], None] | None = None,
) -> Iterator[ProcessCluster]:
    """`set_up` may change the nodes before they are started."""
    cluster = ProcessCluster(directory, extra, broker_extra)
    try:
        cluster.format(controllers, brokers)
        if set_up is not None:
            set_up(cluster)
        if start:
            cluster.start()
        yield cluster
    except BaseException:
        cluster.show()
        raise
    finally:
        cluster.close()
