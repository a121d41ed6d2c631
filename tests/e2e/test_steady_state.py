"""A cluster at rest: nobody writes."""

import time

from tests.support.kafka_resource import KafkaResource

REST_S = 120.0


def test_a_stable_cluster_is_not_written_to(orders: KafkaResource) -> None:
    before = versions(orders)

    time.sleep(REST_S)

    assert versions(orders) == before


def versions(orders: KafkaResource) -> dict[str, str]:
    """The resource version of everything that the operator writes; Leases are renewed."""
    kinds = "kafkaclusters,kafkatopics,statefulsets,services,configmaps,poddisruptionbudgets,pvc"
    found = orders.place.get(kinds)["items"]
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
        for one in found
    }
