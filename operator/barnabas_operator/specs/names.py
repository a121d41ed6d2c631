"""What the objects of a cluster are called, labelled and reached by.

A pool's name has no dash in it, so `<cluster>-<pool>` is never that of another cluster's pool.
"""

from typing import Final

CONTROLLERS: Final = "controllers"
GROUP: Final = "group"

PREFIX: Final = "barnabas.dev"
CLUSTER_LABEL: Final = f"{PREFIX}/cluster"
POOL_LABEL: Final = f"{PREFIX}/pool"
BROKER_LABEL: Final = f"{PREFIX}/broker"
CONTROLLER_LABEL: Final = f"{PREFIX}/controller"
COORDINATOR_LABEL: Final = f"{PREFIX}/coordinator"
NODE_LABEL: Final = f"{PREFIX}/node-id"
REVISION_ANNOTATION: Final = f"{PREFIX}/revision"
FACTS_ANNOTATION: Final = f"{PREFIX}/node-facts"
PAUSED_ANNOTATION: Final = f"{PREFIX}/paused"

MANAGER: Final = "barnabas-operator"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"

MAIN_CONTAINER: Final = "barnabas"
SETUP_CONTAINER: Final = "setup"
FORMAT_CONTAINER: Final = "format"


def pool_object(cluster: str, pool: str) -> str:
    """A pool's StatefulSet, and the headless Service of its pods."""
    return f"{cluster}-{pool}"


def pod_name(cluster: str, pool: str, node_id: int) -> str:
    return f"{pool_object(cluster, pool)}-{node_id}"


def pod_host(namespace: str, cluster: str, pool: str, node_id: int) -> str:
    """Its name in Kubernetes' DNS, found by every pod whatever the cluster's domain."""
    service = service_host(namespace, pool_object(cluster, pool))
    return f"{pod_name(cluster, pool, node_id)}.{service}"


def service_host(namespace: str, service: str) -> str:
    return f"{service}.{namespace}.svc"


def bootstrap_service(cluster: str, listener: str) -> str:
    return f"{cluster}-{listener}-bootstrap"


def broker_service(cluster: str, listener: str, node_id: int) -> str:
    """Of one broker at an external listener."""
    return f"{cluster}-{listener}-{node_id}"


def quorum_config_map(cluster: str) -> str:
    """What the first controllers are formatted with."""
    return f"{cluster}-quorum"


def claim_name(storage: str, pod: str) -> str:
    """As the StatefulSet controller names it."""
    return f"{storage}-{pod}"


def cluster_labels(cluster: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "barnabas",
        "app.kubernetes.io/instance": cluster,
        "app.kubernetes.io/managed-by": MANAGER,
        CLUSTER_LABEL: cluster,
    }
