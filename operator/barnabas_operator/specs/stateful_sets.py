"""A StatefulSet for each node set. Nothing restarts by itself: the operator says which pod goes."""

from typing import Any

from barnabas_operator.specs.blueprint import NodeSet
from barnabas_operator.specs.metadata import object_metadata, pool_selector
from barnabas_operator.specs.names import REVISION_ANNOTATION, pool_object
from barnabas_operator.specs.pods import pod_template, revision_of
from barnabas_operator.specs.volumes import claim_templates


def stateful_set(node_set: NodeSet) -> dict[str, Any]:
    cluster = node_set.cluster
    name = pool_object(cluster.name, node_set.pool)
    template = pod_template(node_set)
    metadata = object_metadata(cluster, name, pool=node_set.pool)
    metadata["annotations"] = {REVISION_ANNOTATION: revision_of(template)}
    spec: dict[str, Any] = {
        "serviceName": name,
        "replicas": node_set.replicas,
        # The number in a pod's name is its node id.
        "ordinals": {"start": node_set.first_node_id},
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": pool_selector(node_set)},
        "template": template,
    }
    claims = claim_templates(node_set)
    if claims:
        when_deleted = "Delete" if cluster.spec.deletes_volumes else "Retain"
        spec["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": when_deleted,
            "whenScaled": "Retain",
        }
        spec["volumeClaimTemplates"] = claims
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
