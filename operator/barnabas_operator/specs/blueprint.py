"""Everything that the objects of a cluster follow from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from barnabas_operator.api.cluster import BrokerPool, ClusterSpec
from barnabas_operator.api.kinds import API_VERSION, CLUSTER
from barnabas_operator.api.listener import METRICS_PORT
from barnabas_operator.api.pod import RoleSettings, Storage
from barnabas_operator.specs.names import CONTROLLERS, GROUP

ZONE_KEY: Final = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Images:
    """Where images come from, unless a pool names its own."""

    prefix: str = "barnabas/"
    """In front of the name: a registry and a folder."""
    tag: str = "dev"
    """The operator's own release, used where the resource names none."""
    pull_policy: str = "IfNotPresent"

    def of(self, name: str, version: str | None) -> str:
        return f"{self.prefix}{name}:{version or self.tag}"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One `KafkaCluster`, with what was given to it once and is kept in its status."""

    name: str
    namespace: str
    uid: str
    spec: ClusterSpec
    cluster_id: str
    first_node_ids: Mapping[str, int]
    static_config: Mapping[str, str] = field(default_factory=dict)
    """What of `spec.config` stands in the nodes' files; the rest is set while they run."""
    images: Images = Images()
    initial_controllers: tuple[int, ...] = ()
    """Those that start the quorum together."""
    quorum_formed: bool = False
    held_replicas: Mapping[str, int] = field(default_factory=dict)
    """Pools of which more pods have to stay than the spec says, as they are not empty yet."""

    @property
    def metrics_port(self) -> int:
        chosen = self.spec.metrics.port if self.spec.metrics is not None else None
        return chosen or METRICS_PORT

    @property
    def topology_key(self) -> str | None:
        return self.spec.rack.topology_key if self.spec.rack is not None else None

    @property
    def quorum_pool(self) -> str:
        """The pool that the controllers are in."""
        combined = [pool.name for pool in self.spec.brokers if pool.is_controller]
        return combined[0] if combined else CONTROLLERS

    @property
    def has_remote_groups(self) -> bool:
        return self.spec.coordinators is not None and self.spec.coordinators.group is not None

    @property
    def owner_reference(self) -> dict[str, object]:
        return {
            "apiVersion": API_VERSION,
            "kind": CLUSTER.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    @property
    def node_sets(self) -> "tuple[NodeSet, ...]":
        """All of them, in the order in which they are made and rolled."""
        found = []
        if self.spec.controllers is not None:
            own = self.spec.controllers
            storage = (own.storage,)
            found.append(NodeSet(self, CONTROLLERS, own.replicas, own, storage, is_controller=True))
        if self.spec.coordinators is not None and self.spec.coordinators.group is not None:
            group = self.spec.coordinators.group
            found.append(NodeSet(self, GROUP, group.replicas, group))
        return (*found, *map(self._broker_set, self.spec.brokers))

    def _broker_set(self, pool: BrokerPool) -> "NodeSet":
        return NodeSet(
            self,
            pool.name,
            pool.replicas,
            pool,
            pool.storage,
            is_broker=True,
            is_controller=pool.is_controller,
            rack=pool.rack,
        )


@dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes that are alike: one StatefulSet."""

    cluster: Blueprint
    pool: str
    wanted: int
    settings: RoleSettings
    storage: tuple[Storage, ...] = ()
    is_broker: bool = False
    is_controller: bool = False
    rack: str | None = None

    @property
    def replicas(self) -> int:
        return max(self.wanted, self.cluster.held_replicas.get(self.pool, 0))

    @property
    def first_node_id(self) -> int:
        return self.cluster.first_node_ids[self.pool]

    @property
    def is_coordinator(self) -> bool:
        return not self.is_broker and not self.is_controller

    @property
    def node_ids(self) -> range:
        return range(self.first_node_id, self.first_node_id + self.replicas)

    @property
    def image(self) -> str:
        name = "broker" if self.is_broker else "controller"
        if self.is_coordinator:
            name = f"{self.pool}-coordinator"
        made = self.cluster.images.of(name, self.cluster.spec.version)
        return self.settings.image or made

    @property
    def finds_its_rack(self) -> bool:
        """From the node on which it runs. Brokers prefer coordinators of their own rack."""
        has_rack = self.is_broker or self.is_coordinator
        return has_rack and self.rack is None and self.cluster.topology_key is not None
