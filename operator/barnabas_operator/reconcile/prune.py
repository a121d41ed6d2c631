"""Objects of a cluster that nothing wants any more.

Properties are in ConfigMaps named after their content: those that no pod uses go. A pool that is no
longer in the spec goes once it has no places left; its volumes stay.
"""

from collections.abc import Collection, Iterable
from typing import Any

from barnabas_operator.kube.client import Json
from barnabas_operator.reconcile.children import Children
from barnabas_operator.specs.names import POOL_LABEL


def superfluous(
    owner_uid: str, wanted: Collection[str], children: Children, empty_pools: Collection[str]
) -> list[tuple[str, str]]:
    """(path, uid) of what is to be deleted. `wanted`: paths of the manifests of this round.

    A label alone proves nothing: only what the resource owns goes.
    """
    used = set(_used_config_maps(children.pods.values()))
    found = []
    for path, one in children.present.items():
        metadata = one["metadata"]
        if path in wanted or "deletionTimestamp" in metadata or not _is_owned(one, owner_uid):
            continue
        pool = metadata.get("labels", {}).get(POOL_LABEL)
        is_used = one["kind"] == "ConfigMap" and metadata["name"] in used
        is_held = one["kind"] == "StatefulSet" and pool not in empty_pools
        if not (is_used or is_held or _is_of_live_pool(one, pool, empty_pools, children)):
            found.append((path, metadata["uid"]))
    return found


def _is_owned(one: Json, owner_uid: str) -> bool:
    owners = one["metadata"].get("ownerReferences") or []
    return any(owner.get("uid") == owner_uid for owner in owners)


def _is_of_live_pool(
    one: Json, pool: str | None, empty_pools: Collection[str], children: Children
) -> bool:
    """Names and addresses of a pool stay as long as its StatefulSet."""
    is_content = one["kind"] == "ConfigMap"
    return not is_content and pool in children.pools and pool not in empty_pools


def _used_config_maps(pods: Iterable[Json]) -> Iterable[str]:
    for pod in pods:
        volumes: list[dict[str, Any]] = pod["spec"].get("volumes") or []
        for volume in volumes:
            if "configMap" in volume:
                yield volume["configMap"]["name"]
