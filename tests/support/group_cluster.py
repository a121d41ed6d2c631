"""Three controllers, three brokers and two group coordinators, each a process, for tests that kill.

with group_cluster(tmp_path) as cluster:
    node = cluster.busiest_coordinator()    # or cluster.busiest_broker()
    node.kill()
    ...
    cluster.bring_back(node)                # until everything is whole again
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.cluster_process import BrokerNode, ProcessCluster, cluster_of
from tests.support.controller_process import until
from tests.support.coordinator_process import CoordinatorNode
from tests.support.scrape import Scrape, address_in, page

TOPIC: Final = "orders"
PARTITIONS: Final = 2
SHARDS: Final = "__consumer_offsets"
SHARD_COUNT: Final = 8
_BROKERS: Final = (
    f"coordinator.mode=remote\noffsets.topic.num.partitions={SHARD_COUNT}\n"
    "group.initial.rebalance.delay.ms=0\n"
)
_COORDINATORS: Final = "metrics.listener=127.0.0.1:0\n"
_AWHILE_S: Final = 90.0


class GroupCluster:
    def __init__(self, processes: ProcessCluster, coordinators: list[CoordinatorNode]) -> None:
        self.processes = processes
        self.coordinators = coordinators

    @property
    def bootstrap(self) -> str:
        return self.processes.bootstrap

    def busiest_coordinator(self) -> CoordinatorNode:
        """The one that has most of the groups."""
        node = max(self.coordinators, key=group_count)
        assert group_count(node), "nobody has a group"
        return node

    def busiest_broker(self) -> BrokerNode:
        """The one that leads most of the shards."""
        leaders = [self.processes.wait_leader(SHARDS, index) for index in range(SHARD_COUNT)]
        return self.processes.brokers[max(self.processes.brokers, key=leaders.count)]

    def bring_back(self, node: CoordinatorNode | BrokerNode) -> None:
        if isinstance(node, CoordinatorNode):
            node.start()
            until(lambda: is_ready(node), f"{node.name} is back", _AWHILE_S)
            return
        node.restart()
        everybody = set(self.processes.brokers)
        for topic, count in ((TOPIC, PARTITIONS), (SHARDS, SHARD_COUNT)):
            for index in range(count):
                self.processes.wait_isr(topic, everybody, index, deadline_s=_AWHILE_S)

    def assert_no_complaints(self) -> None:
        for process in (*self.processes.nodes, *self.coordinators):
            assert "Traceback" not in process.output(), process.output()


def group_count(node: CoordinatorNode) -> int:
    address = address_in(node.output())
    assert address is not None
    return len(Scrape(address).all("barnabas_group_members"))


def is_ready(node: CoordinatorNode) -> bool:
    address = address_in(node.output())
    try:
        return address is not None and page(address, "/readyz").status == 200
    except OSError:
        return False


@contextmanager
def group_cluster(directory: Path) -> Iterator[GroupCluster]:
    """With a topic, and nothing in it."""
    coordinators = [CoordinatorNode(directory, number, _COORDINATORS) for number in (101, 102)]
    with cluster_of(directory, controllers=3, brokers=3, broker_extra=_BROKERS) as processes:
        try:
            for node in coordinators:
                node.configure(processes.quorum.servers)
                node.start()
            until(lambda: all(map(is_ready, coordinators)), "coordinators are ready", _AWHILE_S)
            processes.create_topic(TOPIC, partitions=PARTITIONS, replicas=3)
            yield GroupCluster(processes, coordinators)
        except BaseException:
            for node in coordinators:
                print(f"===== {node.name}\n{node.output()}")
            raise
        finally:
            for node in coordinators:
                if node.is_running:
                    node.kill()
