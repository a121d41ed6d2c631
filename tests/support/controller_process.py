"""Controllers as users run them: `kafka-storage format`, then `python -m barnabas_controller`.

    with controllers(tmp_path, 3) as quorum:       # formatted as one quorum, started, answering
        active = quorum.wait_active()              # the id of the active one
        quorum[active].kill()
        quorum.wait_active(other_than=active)

Every wait has a deadline. When a test fails, what each controller printed is shown.
"""

import io
import os
import random
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from barnabas.storage.cli import main as storage_tool
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.ports.link import Address
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.describe_quorum_response import DescribeQuorumResponse
from barnabas_core.wire.primitive import uuid_text
from tests.support.node_process import NodeProcess
from tests.support.raw_client import ConnectionClosed, RawClient

CLUSTER_ID = "b3VyLWNvbnRyb2xsZXJzMQ"
METADATA_TOPIC = "__cluster_metadata"
HOST = "127.0.0.1"
PORT_OFFSET = 1000
CONTROLLERS = 2
"""The endpoint type of DescribeCluster that means controllers (KIP-919)."""
DEADLINE_S = 30.0

PROPERTIES = """\
process.roles=controller
node.id={node_id}
listeners=CONTROLLER://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={bootstrap}
log.dirs={data}
"""

_handed_out: set[int] = set()
# Not the generator that pytest seeds: a rerun must not meet the sockets of the run before.
_chance = random.SystemRandom()


def free_controller_port() -> int:
    """One that is free, as is the port of its links; below those that the kernel hands out."""
    for _ in range(1_000):
        port = _chance.randrange(12_000, 31_000)
        pair = {port, port + PORT_OFFSET}
        if not pair & _handed_out and all(_is_free(one) for one in pair):
            _handed_out.update(pair)
            return port
    raise AssertionError("no two free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def run_storage(*arguments: str) -> None:
    """The tool's own main, in this process: a start of Python for each directory adds up."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        status = storage_tool(arguments)
    assert status == 0, printed.getvalue()


def until(condition: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> float:
    """How long it took, in seconds."""
    started_at = time.monotonic()
    while not condition():
        assert time.monotonic() - started_at < deadline_s, f"not within {deadline_s} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - started_at


def busy_factor() -> float:
    """How much longer things may take than on a machine that does nothing else."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class ControllerNode(NodeProcess):
    """One controller: its properties and directory, and its process while it runs."""

    def __init__(self, directory: Path, node_id: int, extra: str = "") -> None:
        super().__init__(directory, f"controller {node_id}")
        self.id = node_id
        self.port = free_controller_port()
        self.links = Address(HOST, self.port + PORT_OFFSET)
        self.extra = extra
        self.data = self.directory / "data"

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.port

    @property
    def server(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def metadata(self) -> Path:
        return self.data / "__cluster_metadata-0"

    @property
    def directory_id(self) -> bytes:
        found = MetaProperties.decode((self.data / META_PROPERTIES_FILE).read_bytes())
        assert found.directory_id is not None
        return found.directory_id

    def configure(self, bootstrap: Iterable[str]) -> None:
        text = PROPERTIES.format(
            node_id=self.id, port=self.port, bootstrap=",".join(bootstrap), data=self.data
        )
        self.properties.write_text(text + self.extra)

    def format(self, *arguments: str) -> None:
        run_storage("format", "-t", CLUSTER_ID, "-c", str(self.properties), *arguments)

    def lose_disk(self) -> None:
        assert not self.is_running
        shutil.rmtree(self.data)

    def command(self) -> list[str]:
        return ["-m", "barnabas_controller", "--config", str(self.properties)]

    # --- asked

    def describe_cluster(self, timeout_s: float = 1) -> DescribeClusterResponse | None:
        """None while it does not answer."""
        request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
        try:
            with RawClient(self.address, timeout_s=timeout_s) as client:
                return client.ask(request, 2, DescribeClusterResponse)
        except (OSError, ConnectionClosed):
            return None

    def wait_answers(self) -> None:
        def answers() -> bool:
            assert self.is_running, f"controller {self.id} ended:\n{self.output()}"
            return self.describe_cluster() is not None

        until(answers, f"controller {self.id} answers")


class Quorum:
    """Controllers by their ids."""

    def __init__(self, directory: Path, extra: str = "") -> None:
        self._directory = directory
        self._extra = extra
        self.nodes: dict[int, ControllerNode] = {}

    def __getitem__(self, node_id: int) -> ControllerNode:
        return self.nodes[node_id]

    @property
    def servers(self) -> str:
        """For `--bootstrap-controller`."""
        return ",".join(node.server for node in self.nodes.values())

    @property
    def links(self) -> list[Address]:
        return [node.links for node in self.nodes.values()]

    @property
    def running(self) -> list[ControllerNode]:
        return [node for node in self.nodes.values() if node.is_running]

    def make(self, node_id: int, extra: str = "") -> ControllerNode:
        """One more, neither configured nor formatted."""
        node = ControllerNode(self._directory, node_id, self._extra + extra)
        self.nodes[node_id] = node
        return node

    def format_initial(self, count: int) -> None:
        """Controllers 1 to `count`, as the first voters of a new cluster."""
        nodes = [self.make(number + 1) for number in range(count)]
        ids = [uuid_text(random.randbytes(16)) for _ in nodes]
        voters = ",".join(
            f"{node.id}@{node.server}:{directory_id}"
            for node, directory_id in zip(nodes, ids, strict=True)
        )
        for node in nodes:
            node.configure(one.server for one in nodes)
            node.format("--initial-controllers", voters)

    def add_observer(self, node_id: int, extra: str = "") -> ControllerNode:
        """One more that knows the others, started: it follows, and votes when it is added."""
        node = self.nodes.get(node_id) or self.make(node_id, extra)
        node.configure(one.server for one in self.nodes.values() if one is not node)
        node.format("--no-initial-controllers")
        node.start()
        node.wait_answers()
        return node

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.wait_answers()

    def wait_active(self, other_than: int | None = None, deadline_s: float = DEADLINE_S) -> int:
        """The id of the controller that is active according to itself."""
        found: list[int] = []

        def is_found() -> bool:
            asked = [node for node in self.running if node.id != other_than]
            found.extend(node.id for node in asked if self._says_it_is_active(node))
            return bool(found)

        until(is_found, "a controller is active", deadline_s)
        return found[0]

    def _says_it_is_active(self, node: ControllerNode) -> bool:
        """Not by DescribeCluster: between two leaders that names the one before."""
        request = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [PartitionData(0)])])
        try:
            with RawClient(node.address, timeout_s=1) as client:
                answer = client.ask(request, 2, DescribeQuorumResponse)
        except (OSError, ConnectionClosed):
            return False
        return answer.topics[0].partitions[0].error_code == ErrorCode.NONE

    def show(self) -> None:
        for node in self.nodes.values():
            print(f"===== controller {node.id} at {node.server}\n{node.output()}")

    def close(self) -> None:
        for node in self.running:
            node.kill()


@contextmanager
def controllers(
    directory: Path, count: int, extra: str = "", *, start: bool = True
) -> Iterator[Quorum]:
    """`extra`: more lines for each server.properties."""
    quorum = Quorum(directory, extra)
    try:
        quorum.format_initial(count)
        if start:
            quorum.start()
        yield quorum
    except BaseException:
        quorum.show()
        raise
    finally:
        quorum.close()
