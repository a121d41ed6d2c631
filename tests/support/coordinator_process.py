"""Group coordinators as users run them: `python -m barnabas_coordinator --role group`.

node = CoordinatorNode(tmp_path, 101)
node.configure(cluster.quorum.servers)
node.start()                            # kill, suspend, resume, terminate
live = live_coordinators(cluster.quorum.links)      # as the active controller sees them
assert live[101].session_count == 4
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas_core.links.cluster_health import ClusterHealthClient
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.ports.link import Address, Identity, LinkError
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from tests.support.cluster_process import PROPERTIES
from tests.support.controller_process import CLUSTER_ID, HOST
from tests.support.kafka_node import free_ports
from tests.support.node_process import NodeProcess

if TYPE_CHECKING:
    from barnabas_core.links.proto.cluster_health_pb2 import QuorumAnswer

ASK_MS = 20_000
T = TypeVar("T")


class CoordinatorNode(NodeProcess):
    def __init__(self, directory: Path, node_id: int, extra: str = "") -> None:
        super().__init__(directory, f"coordinator {node_id}")
        self.id = node_id
        self.extra = extra
        (self.port,) = free_ports(1)

    def configure(self, bootstrap: str) -> None:
        text = PROPERTIES.format(
            node_id=self.id, port=0, bootstrap=bootstrap, data=self.directory / "none"
        )
        listener = f"internal.listener={HOST}:{self.port}\n"
        self.properties.write_text(text + listener + self.extra)

    def command(self) -> list[str]:
        config = str(self.properties)
        return ["-m", "barnabas_coordinator", "--role", "group", "--config", config]


class Seen(NamedTuple):
    session_count: int
    is_draining: bool


def as_operator(
    links: Sequence[Address], question: Callable[[ClusterHealthClient], Awaitable[T]]
) -> T | None:
    """None while no controller is active, or the node that is asked does not answer."""

    async def ask() -> T | None:
        clock, log = SystemClock(), EventLog(level="error")
        operator = GrpcLinks(Identity(CLUSTER_ID, -1, "operator"), clock, log)
        client = ClusterHealthClient(operator, links, clock)
        try:
            return await question(client)
        except LinkError:
            return None
        finally:
            await client.close()

    return asyncio.run(ask())


def ask_quorum(links: Sequence[Address]) -> "QuorumAnswer | None":
    return as_operator(links, lambda client: client.quorum_check(ASK_MS))


def live_coordinators(links: Sequence[Address]) -> dict[int, Seen]:
    """By node id; nobody while no controller is active."""
    answer = ask_quorum(links)
    told = () if answer is None else answer.coordinators
    return {one.node_id: Seen(one.session_count, one.is_draining) for one in told}
