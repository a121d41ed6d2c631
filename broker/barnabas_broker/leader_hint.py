"""Who leads instead (KIP-951): clients that asked the wrong broker need not ask for metadata."""

from barnabas_broker.cluster_view import BrokerNode, ClusterView
from barnabas_broker.partitions.partition import Partition
from barnabas_core.metadata.partition_image import NO_LEADER

UNKNOWN_LEADER = (NO_LEADER, -1)


class LeaderHints:
    """Of one answer: each leader it names is described once, as the listener asked on knows it."""

    __slots__ = ("_listener", "_view", "nodes")

    def __init__(self, view: ClusterView, listener: str) -> None:
        self._view = view
        self._listener = listener
        self.nodes: dict[int, BrokerNode] = {}

    def leader_of(self, topic: str, index: int, partition: Partition | None) -> tuple[int, int]:
        """(leader, epoch), from this broker's own replica if it has one."""
        if partition is not None:
            leader, epoch = partition.leader_id, partition.leader_epoch
        else:
            image = self._view.partition(topic, index)
            leader, epoch = UNKNOWN_LEADER if image is None else (image.leader, image.leader_epoch)
        if leader not in self.nodes:
            node = self._view.node(leader, self._listener)
            if node is not None:
                self.nodes[leader] = node
        return leader, epoch
