"""`KafkaCluster`: a whole cluster, from its controllers to its listeners."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from barnabas_operator.api.facts import ConfigValue, Facts, Rule, described
from barnabas_operator.api.listener import (
    CONTROLLER_PORT,
    DEFAULT_LISTENERS,
    LINK_PORT,
    LISTENER_RULES,
    ListenerSpec,
)
from barnabas_operator.api.owned_keys import CLUSTER_KEYS
from barnabas_operator.api.pod import POOL_NAME, DeletionPolicy, RoleSettings, Storage

RESERVED_POOLS = ("bootstrap", "controllers", "group", "share", "transaction")
_ODD = "self % 2 == 1"
_KEPT_DISKS = Rule(
    "oldSelf.all(old, self.exists(new, new.name == old.name))",
    "a disk cannot be taken away; add a pool without it and drain this one",
)


class Role(StrEnum):
    BROKER = "broker"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers(RoleSettings):
    """The quorum that keeps the metadata, on pods of its own."""

    replicas: int = described(
        "How many: an odd number. Voters are added and removed while the cluster runs.",
        minimum=1,
        maximum=9,
        rules=(Rule(_ODD, "controllers come in odd numbers: an even one tolerates no more loss"),),
    )
    storage: Storage = described("The disk of each.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPool(RoleSettings):
    """Brokers that are alike."""

    name: str = described(
        "Tells pools apart; part of the names of the pods.",
        pattern=POOL_NAME,
        length_max=19,
        rules=(
            Rule(
                f"!(self in {list(RESERVED_POOLS)})",
                f"a pool cannot be called {', '.join(RESERVED_POOLS)}: other objects are",
            ),
        ),
    )
    replicas: int = described(
        "How many brokers. Fewer: those with the highest node ids are drained, then removed.",
        minimum=0,
        maximum=500,
    )
    roles: tuple[Role, ...] = described(
        "With `controller` besides `broker`, the brokers of this pool are the quorum too, for"
        " small clusters. Without it: brokers only.",
        default=(),
        items_max=2,
    )
    storage: tuple[Storage, ...] = described(
        "The disks of each broker.",
        items_min=1,
        items_max=8,
        key="name",
        rules=(_KEPT_DISKS,),
    )
    rack: str | None = described(
        "Pods run only on nodes where the topology key has this value, and it is their"
        " `broker.rack`.",
        default=None,
        length_max=63,
    )

    RULES = (
        Rule(
            "!has(self.roles) || ('broker' in self.roles && self.roles.size() == 1)"
            " || ('broker' in self.roles && 'controller' in self.roles)",
            "roles are [broker] or [broker, controller]; controllers alone are spec.controllers",
        ),
        Rule(
            "(has(self.roles) && 'controller' in self.roles)"
            " == (has(oldSelf.roles) && 'controller' in oldSelf.roles)",
            "roles cannot be changed: a pool is part of the quorum for good or never",
        ),
        Rule(
            "!(has(self.roles) && 'controller' in self.roles) || self.replicas % 2 == 1",
            "a pool with the role controller has an odd number of replicas",
        ),
    )

    @property
    def is_controller(self) -> bool:
        return Role.CONTROLLER in self.roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator(RoleSettings):
    """Processes of one coordinator role; they keep nothing on disk."""

    replicas: int = described("How many share the work.", minimum=1, maximum=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinators:
    """Coordinators on pods of their own. A role that is left out runs within the brokers."""

    group: Coordinator | None = described("Consumer groups.", default=None)
    transaction: Coordinator | None = described(
        "Transactions; refused, as they are not built yet.", default=None
    )
    share: Coordinator | None = described(
        "Share groups; refused, as they are not built yet.", default=None
    )

    RULES = (
        Rule(
            "!has(self.transaction)",
            "coordinators.transaction is refused: transactions are not built yet",
        ),
        Rule("!has(self.share)", "coordinators.share is refused: share groups are not built yet"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """Where brokers stand, taken from the labels of Kubernetes' nodes."""

    topology_key: str = described(
        "The label of a node whose value is its rack, such as topology.kubernetes.io/zone.",
        pattern=r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
        length_max=316,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """How restarts are spread over time."""

    max_unavailable_per_rack: int | None = described(
        "How many brokers of one rack may restart at once, as long as every partition keeps its"
        " min.insync.replicas. Without it 1.",
        default=None,
        minimum=1,
        maximum=50,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Figures for Prometheus; every pod gives them at its port `metrics`."""

    port: int | None = described(
        "The port; without it 9404.",
        default=None,
        minimum=1024,
        maximum=65535,
        rules=(
            Rule(
                f"!(self in {[CONTROLLER_PORT, LINK_PORT]})",
                "ports 9093 and 10093 are the cluster's own (controllers, links)",
            ),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """What a cluster should be."""

    version: str | None = described(
        "The release of Barnabas; the tag of its images. Without it, that of the operator.",
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,126}$",
        length_max=127,
    )
    cluster_id: str | None = described(
        "The id on disks that were kept from a deleted cluster of this name: they are taken over,"
        " and disks that are blank join. Without it a new cluster with a new id.",
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{21}$",
        length_max=22,
    )
    controllers: Controllers | None = described(
        "The quorum on pods of its own; left out where a pool has the role controller.",
        default=None,
    )
    brokers: tuple[BrokerPool, ...] = described(
        "The pools of brokers.", items_min=1, items_max=16, key="name"
    )
    coordinators: Coordinators | None = described(
        "Coordinators on pods of their own; without it, within the brokers.", default=None
    )
    listeners: tuple[ListenerSpec, ...] = described(
        "Where clients connect. Without it one listener `plain`, port 9092, within Kubernetes.",
        default=DEFAULT_LISTENERS,
        items_min=1,
        items_max=8,
        key="name",
        rules=LISTENER_RULES,
    )
    rack: Rack | None = described(
        "Replicas are spread over racks, and consumers read from their own"
        " (RackAwareReplicaSelector).",
        default=None,
    )
    config: Mapping[str, ConfigValue] = described(
        "Kafka's properties by Kafka's names. null leaves one alone (apply such a resource with"
        " --server-side).",
        default={},
        keys_owned=CLUSTER_KEYS,
        items_max=256,
    )
    metrics: Metrics | None = described("Figures for Prometheus.", default=None)
    rollout: Rollout | None = described("How restarts are spread over time.", default=None)
    allowed_namespaces: tuple[str, ...] = described(
        "Namespaces besides its own from which a KafkaTopic may refer to this cluster; `*` is all.",
        default=(),
        items_max=128,
        item=Facts("", length_max=63, pattern=r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$"),
    )
    deletion_policy: DeletionPolicy | None = described(
        "What becomes of the volumes when the cluster is deleted; without it Retain.", default=None
    )

    RULES = (
        Rule(
            "has(self.controllers) != self.brokers.exists(pool,"
            " has(pool.roles) && 'controller' in pool.roles)",
            "set spec.controllers, or give one pool the roles [broker, controller], not both",
        ),
        Rule(
            "self.brokers.filter(pool, has(pool.roles) && 'controller' in pool.roles).size() <= 1",
            "only one pool can have the role controller",
        ),
        Rule(
            "!has(self.metrics) || !has(self.metrics.port) || !has(self.listeners)"
            " || self.listeners.all(one, one.port != self.metrics.port)",
            "metrics.port is that of a listener",
        ),
        Rule(
            "has(self.clusterId) == has(oldSelf.clusterId)"
            " && (!has(self.clusterId) || self.clusterId == oldSelf.clusterId)",
            "clusterId cannot be changed: disks belong to one cluster",
        ),
        Rule(
            "has(self.controllers) == has(oldSelf.controllers)",
            "controllers cannot be added or removed as a whole: the quorum stays where it is",
        ),
    )

    @property
    def deletes_volumes(self) -> bool:
        return self.deletion_policy is DeletionPolicy.DELETE


CLUSTER_NAME_RULE = Rule(
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 32",
    "a cluster's name has at most 32 small letters, digits and dashes, a letter first",
)
