"""All objects of a cluster, in the order in which they are applied."""

from typing import Any

from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.config_maps import properties_config_map, quorum_map
from barnabas_operator.specs.protection import disruption_budgets, network_policies
from barnabas_operator.specs.services import bootstrap_services, broker_services, headless_service
from barnabas_operator.specs.stateful_sets import stateful_set


def cluster_objects(cluster: Blueprint) -> list[dict[str, Any]]:
    """Addresses and rules before what needs them: pods come last."""
    sets = cluster.node_sets
    return [
        *network_policies(cluster),
        *disruption_budgets(cluster),
        *bootstrap_services(cluster),
        *(headless_service(one) for one in sets),
        *(service for one in sets for service in broker_services(one)),
        quorum_map(cluster),
        *(properties_config_map(one) for one in sets),
        *(stateful_set(one) for one in sets),
    ]
