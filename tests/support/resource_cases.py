"""Resources that are taken and resources that are refused, for every rule of the definitions.

The same cases are judged by a CEL library in the unit tests and by a real API server in the
Kubernetes tier. A case changes a good object at one place; those about changes say what it was.
"""

import copy
from dataclasses import dataclass
from typing import Any, Final

CLUSTER: Final[dict[str, Any]] = {
    "apiVersion": "barnabas.dev/v1alpha1",
    "kind": "KafkaCluster",
    "metadata": {"name": "demo", "namespace": "default"},
    "spec": {
        "controllers": {"replicas": 3, "storage": {"size": "1Gi", "storageClass": "slow"}},
        "brokers": [
            {"name": "main", "replicas": 3, "storage": [{"size": "10Gi", "storageClass": "fast"}]},
            {"name": "other", "replicas": 1, "storage": [{"name": "disk", "size": "10Gi"}]},
        ],
        "coordinators": {"group": {"replicas": 2}},
        "listeners": [
            {"name": "plain", "port": 9092, "type": "internal"},
            {
                "name": "outside",
                "port": 9094,
                "type": "nodeport",
                "advertised": [{"nodeId": 0, "host": "a.example", "nodePort": 30000}],
            },
            {
                "name": "cloud",
                "port": 9095,
                "type": "loadbalancer",
                "annotations": {"example.com/class": "fast"},
                "sourceRanges": ["10.0.0.0/8"],
            },
        ],
        "rack": {"topologyKey": "topology.kubernetes.io/zone"},
        "config": {"min.insync.replicas": 2, "node.id": None, "auto.create.topics.enable": False},
        "metrics": {"port": 9500},
    },
}

COMBINED: Final[dict[str, Any]] = {
    "apiVersion": "barnabas.dev/v1alpha1",
    "kind": "KafkaCluster",
    "metadata": {"name": "small", "namespace": "default"},
    "spec": {
        "brokers": [
            {
                "name": "main",
                "replicas": 3,
                "roles": ["broker", "controller"],
                "storage": [{"size": "10Gi"}],
            },
            {"name": "more", "replicas": 2, "roles": ["broker"], "storage": [{"size": "1Gi"}]},
        ]
    },
}

TOPIC: Final[dict[str, Any]] = {
    "apiVersion": "barnabas.dev/v1alpha1",
    "kind": "KafkaTopic",
    "metadata": {"name": "orders", "namespace": "default"},
    "spec": {
        "clusterRef": {"name": "demo"},
        "topicName": "Orders",
        "partitions": 6,
        "replicas": 3,
        "config": {"retention.ms": 1000},
    },
}

GOOD: Final = (CLUSTER, COMBINED, TOPIC)
GONE: Final = object()


@dataclass(frozen=True)
class Case:
    """`path` of `good` set to `value`; `message` is a part of what is told.

    With `is_change`, the good object is there first, and the other is refused as its next state.
    """

    good: dict[str, Any]
    path: str
    value: Any
    message: str
    is_change: bool = False

    @property
    def resource(self) -> dict[str, Any]:
        changed = copy.deepcopy(self.good)
        *parents, last = [int(word) if word.isdecimal() else word for word in self.path.split("/")]
        place: Any = changed
        for word in parents:
            place = place[word]
        if self.value is GONE:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(self.value)
        else:
            place[last] = self.value
        return changed

    @property
    def title(self) -> str:
        kind = "change" if self.is_change else "create"
        shown = "gone" if self.value is GONE else str(self.value)[:40]
        return f"{kind} {self.good['metadata']['name']} {self.path} {shown}"


def _cluster(path: str, value: Any, message: str) -> Case:
    return Case(CLUSTER, f"spec/{path}", value, message)


def _change(path: str, value: Any, message: str) -> Case:
    return Case(CLUSTER, f"spec/{path}", value, message, is_change=True)


_LISTENER: Final = {"name": "more", "port": 9099, "type": "internal"}

CASES: Final = (
    Case(CLUSTER, "metadata/name", "a" * 33, "at most 32 small letters"),
    Case(CLUSTER, "metadata/name", "1st", "a letter first"),
    _cluster("controllers", GONE, "give one pool the roles"),
    _cluster("brokers/0/roles", ["broker", "controller"], "not both"),
    _cluster("brokers/0/roles", ["controller"], "controllers alone are spec.controllers"),
    Case(COMBINED, "spec/brokers/1/roles", ["broker", "controller"], "only one pool"),
    Case(COMBINED, "spec/brokers/0/replicas", 2, "an odd number of replicas"),
    _cluster("controllers/replicas", 2, "odd numbers"),
    _cluster("controllers/storage/size", "large", "a size is a quantity"),
    _cluster("controllers/storage/size", "0", "a size is a quantity"),
    _cluster("brokers/0/name", "controllers", "a pool cannot be called"),
    _cluster("coordinators/transaction", {"replicas": 1}, "transactions are not built yet"),
    _cluster("coordinators/share", {"replicas": 1}, "share groups are not built yet"),
    _cluster("listeners/3", _LISTENER | {"name": "internal"}, "a listener cannot be called"),
    _cluster("listeners/3", _LISTENER | {"port": 9093}, "ports 9093, 10093 and 9404"),
    _cluster("listeners/3", _LISTENER | {"port": 9092}, "a port of its own"),
    _cluster("listeners/0/type", "nodeport", "one listener at least is internal"),
    _cluster("listeners/0/tls", {"secretName": "a"}, "TLS is not built yet"),
    _cluster("listeners/0/authentication", {"type": "scram"}, "authentication is refused"),
    _cluster("listeners/0/annotations", {"a": "b"}, "for listeners of type nodeport and load"),
    _cluster("listeners/1/sourceRanges", ["10.0.0.0/8"], "sourceRanges are for"),
    _cluster("listeners/2/advertised", [{"nodeId": 0, "nodePort": 30001}], "nodePort is for"),
    _cluster("listeners/1/advertised", [{"nodeId": 0}], "has a host, a port or a nodePort"),
    _cluster("metrics/port", 9092, "metrics.port is that of a listener"),
    _cluster("metrics/port", 10093, "ports 9093 and 10093"),
    _cluster("config/node.id", 7, "node.id is set by the operator"),
    _cluster("config/listeners", "A://:1", "listeners is set by the operator"),
    _change("clusterId", "c" * 22, "clusterId cannot be changed"),
    _change("controllers", GONE, "the quorum stays where it is"),
    _change("controllers/storage/size", "500Mi", "a disk cannot shrink"),
    _change("controllers/storage/storageClass", "fast", "storageClass cannot be changed"),
    _change("controllers/storage/storageClass", GONE, "storageClass cannot be changed"),
    _change("brokers/0/storage/0/size", "9Gi", "a disk cannot shrink"),
    _change("brokers/0/storage/0/storageClass", "slow", "storageClass cannot be changed"),
    _change("brokers/0/storage/0/name", "another", "a disk cannot be taken away"),
    Case(COMBINED, "spec/brokers/0/roles", ["broker"], "roles cannot be changed", is_change=True),
    Case(TOPIC, "spec/topicName", ".", "cannot be called . or .."),
    Case(TOPIC, "spec/topicName", "__consumer_offsets", "are the cluster's own"),
    Case(TOPIC, "spec/topicName", "Sales", "topicName cannot be changed", is_change=True),
    Case(TOPIC, "spec/topicName", GONE, "topicName cannot be changed", is_change=True),
    Case(TOPIC, "spec/clusterRef/name", "other", "clusterRef cannot be changed", is_change=True),
    Case(TOPIC, "spec/partitions", 5, "partitions cannot become fewer", is_change=True),
    Case(TOPIC, "spec/partitions", GONE, "cannot be left out once", is_change=True),
)

LONG_NAMED_TOPIC: Final = Case(
    {**TOPIC, "spec": {"clusterRef": {"name": "demo"}}},
    "metadata/name",
    "a" * 250,
    "at most 249 characters",
)
"""The name of a resource may be longer than that of a topic."""

ALL_CASES: Final = (*CASES, LONG_NAMED_TOPIC)
