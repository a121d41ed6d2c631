"""A KafkaCluster on a real Kubernetes, as its users handle it: applied, patched, waited for.

cluster = KafkaResource(place, "orders")
cluster.apply(spec())
cluster.wait()                                  # condition Stable
cluster.patch({"config": {"num.io.threads": 4}})
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.kind_lab import Place, note_figures, until

STABLE_TIMEOUT_S: Final = 600.0
_SMALL: Final = {"requests": {"cpu": "20m", "memory": "64Mi"}}


def cluster_spec(
    *, controllers: int = 3, brokers: int = 3, coordinators: int = 2
) -> dict[str, Any]:
    """Every role on pods of its own, in the zones of the workers.

    Without coordinators, groups are served within the brokers.
    """
    spec: dict[str, Any] = {
        "deletionPolicy": "Delete",
        "rack": {"topologyKey": "topology.kubernetes.io/zone"},
        "controllers": {
            "replicas": controllers,
            "storage": {"size": "1Gi"},
            "resources": _SMALL,
        },
        "brokers": [
            {
                "name": "main",
                "replicas": brokers,
                "storage": [{"size": "1Gi"}],
                "resources": _SMALL,
            }
        ],
        "config": {
            "default.replication.factor": 3,
            "min.insync.replicas": 2,
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": 3,
            "group.initial.rebalance.delay.ms": 0,
        },
    }
    if coordinators:
        spec["coordinators"] = {"group": {"replicas": coordinators, "resources": _SMALL}}
    return spec


@dataclass(frozen=True, slots=True)
class KafkaResource:
    place: Place
    name: str

    @property
    def bootstrap(self) -> str:
        return f"{self.name}-plain-bootstrap.{self.place.name}.svc:9092"

    def apply(self, spec: Mapping[str, Any]) -> None:
        self.place.apply(json.dumps(resource("KafkaCluster", self.name, spec)))

    def patch(self, spec: Mapping[str, Any]) -> None:
        patch = json.dumps({"spec": spec})
        self.place.kubectl("patch", "kafkacluster", self.name, "--type=merge", "-p", patch)

    def patch_pool(self, **changes: object) -> None:
        """The one broker pool; a merge would replace the list."""
        pool = self.get()["spec"]["brokers"][0]
        self.patch({"brokers": [pool | changes]})

    def get(self) -> dict[str, Any]:
        return self.place.get("kafkacluster", self.name)

    def condition(self, kind: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.get().get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {})

    def wait(self, condition: str = "Stable", deadline_s: float = STABLE_TIMEOUT_S) -> float:
        """With `kubectl wait`, as users do; how long it took, in seconds."""
        begun_at = time.monotonic()
        what = (f"--for=condition={condition}", f"kafkacluster/{self.name}")
        self.place.kubectl("wait", *what, f"--timeout={deadline_s:.0f}s")
        return time.monotonic() - begun_at

    def wait_rolled(self, before: Mapping[str, str], what: str) -> float:
        """Until none of these pods is left and the cluster is stable again."""
        begun_at = time.monotonic()
        until(lambda: not set(before.values()) & set(self.pods().values()), what, 1200)
        self.wait()
        took_s = time.monotonic() - begun_at
        note_figures(what, {"pods": len(before), "seconds": round(took_s)})
        return took_s

    def pods(self, role: str = "") -> dict[str, str]:
        """Names and uids; `role` is broker, controller or coordinator."""
        selector = f"barnabas.dev/cluster={self.name}"
        if role:
            selector += f",barnabas.dev/{role}"
        found = self.place.get("pods", "-l", selector)["items"]
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def resource(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "barnabas.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
