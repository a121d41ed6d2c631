"""The objects of a cluster as Kubernetes has them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection, path_of
from barnabas_operator.specs.names import CLUSTER_LABEL, POOL_LABEL

_APPLIED_KINDS: Final = (
    "ConfigMap",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "Service",
    "StatefulSet",
)
_FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class Children:
    present: Mapping[str, Json]
    """What the operator applies, by path."""
    pods: Mapping[str, Json]
    claims: Mapping[str, Json]
    hosts: Mapping[str, Json] = field(default_factory=dict)
    """Those on which the pods run; empty where the operator may not look at them."""

    def stateful_set(self, namespace: str, name: str) -> Json | None:
        return self.present.get(path_of("StatefulSet", namespace, name))

    def of_kind(self, kind: str) -> dict[str, Json]:
        """By path."""
        return {path: one for path, one in self.present.items() if one["kind"] == kind}

    @property
    def pools(self) -> dict[str, Json]:
        """StatefulSets by the pool that they are of."""
        return {
            one["metadata"]["labels"][POOL_LABEL]: one
            for one in self.of_kind("StatefulSet").values()
            if POOL_LABEL in one["metadata"].get("labels", {})
        }


async def read_children(kube: Kube, namespace: str, cluster: str) -> Children:
    labels = f"{CLUSTER_LABEL}={cluster}"
    kinds = (*_APPLIED_KINDS, "Pod", "PersistentVolumeClaim")
    found = await asyncio.gather(
        *(kube.list(collection(kind, namespace), labels=labels) for kind in kinds)
    )
    listed = dict(zip(kinds, found, strict=True))
    pods = _by_name(listed["Pod"])
    return Children(
        present={
            path_of(kind, namespace, one["metadata"]["name"]): {**one, "kind": kind}
            for kind in _APPLIED_KINDS
            for one in listed[kind]
        },
        pods=pods,
        claims=_by_name(listed["PersistentVolumeClaim"]),
        hosts=await _read_hosts(kube, pods),
    )


async def _read_hosts(kube: Kube, pods: Mapping[str, Json]) -> dict[str, Json]:
    names = sorted(
        {one["spec"]["nodeName"] for one in pods.values() if one["spec"].get("nodeName")}
    )
    try:
        found = await asyncio.gather(*(kube.get(path_of("Node", None, one)) for one in names))
    except KubeError as error:
        if error.status == _FORBIDDEN:
            return {}
        raise
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}


def _by_name(objects: list[Json]) -> dict[str, Json]:
    return {one["metadata"]["name"]: one for one in objects}
