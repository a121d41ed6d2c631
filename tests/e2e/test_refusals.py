"""What the API server itself refuses, with a word that helps."""

from typing import Any

import pytest

from tests.support.kafka_resource import KafkaResource, cluster_spec
from tools.kube.kind_cluster import ClusterFailed


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"controllers": {"replicas": 2, "storage": {"size": "1Gi"}}}, "odd"),
        ({"coordinators": {"share": {"replicas": 1}}}, "share"),
        ({"config": {"node.id": 7}}, "node.id"),
        ({"brokers": []}, "brokers"),
    ],
)
def test_a_mistake_is_refused_when_it_is_applied(
    orders: KafkaResource, changes: dict[str, Any], word: str
) -> None:
    wrong = KafkaResource(orders.place, "wrong")

    with pytest.raises(ClusterFailed, match=word):
        wrong.apply(cluster_spec() | changes)


def test_a_volume_never_shrinks(orders: KafkaResource) -> None:
    with pytest.raises(ClusterFailed, match="shrink"):
        orders.patch({"controllers": {"storage": {"size": "512Mi"}}})
