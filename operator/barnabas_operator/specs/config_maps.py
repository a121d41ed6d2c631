"""ConfigMaps: the nodes' properties, and what the first controllers are formatted with.

A pool's properties are never changed in place: another text is another ConfigMap, named after its
hash and immutable. A pod that crashes comes back with what it had, and gets the new text only when
it is restarted for it.
"""

import hashlib
from typing import Any, Final

from barnabas_operator.api.listener import CONTROLLER_PORT
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.identity import directory_id
from barnabas_operator.specs.metadata import object_metadata
from barnabas_operator.specs.names import pod_host, pool_object, quorum_config_map
from barnabas_operator.specs.properties import server_properties

PROPERTIES_FILE: Final = "server.properties"
INITIAL_CONTROLLERS: Final = "initial-controllers"
_HASH_LENGTH: Final = 10


def properties_config_map(node_set: NodeSet) -> dict[str, Any]:
    text = server_properties(node_set)
    name = f"{pool_object(node_set.cluster.name, node_set.pool)}-{short_hash(text)}"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": object_metadata(node_set.cluster, name, pool=node_set.pool),
        "immutable": True,
        "data": {PROPERTIES_FILE: text},
    }


def quorum_map(cluster: Blueprint) -> dict[str, Any]:
    """The first voters, as long as they have not found each other.

    Afterwards there are none: an empty disk then joins the quorum, and cannot start another. Of a
    cluster whose disks are taken over, the quorum formed long ago.
    """
    is_forming = not cluster.quorum_formed and cluster.spec.cluster_id is None
    voters = cluster.initial_controllers if is_forming else ()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": object_metadata(cluster, quorum_config_map(cluster.name)),
        "data": {INITIAL_CONTROLLERS: ",".join(_voter(cluster, one) for one in voters)},
    }


def _voter(cluster: Blueprint, node_id: int) -> str:
    host = pod_host(cluster.namespace, cluster.name, cluster.quorum_pool, node_id)
    directory = directory_id(cluster.cluster_id, node_id)
    return f"{node_id}@{host}:{CONTROLLER_PORT}:{directory}"


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
