"""The end of things: nothing waits for ever for an operator that has nothing left to do."""

import json

import pytest

from tests.support.kafka_resource import KafkaResource, cluster_spec, resource
from tests.support.kind_lab import KindLab, Place
from tools.kube.kind_cluster import ClusterFailed


def test_a_namespace_goes_with_its_cluster_and_topics(lab: KindLab, operator: Place) -> None:
    with lab.namespace("short-lived") as place:
        cluster = KafkaResource(place, "brief")
        cluster.apply(cluster_spec(controllers=1, brokers=3, coordinators=0))
        spec = {"clusterRef": {"name": cluster.name}, "partitions": 1, "replicas": 3}
        place.apply(json.dumps(resource("KafkaTopic", "notes", spec)))
        cluster.wait()
        place.kubectl("wait", "--for=condition=Ready", "kafkatopic/notes", "--timeout=120s")
    # Whose end has deleted the namespace, with everything in it.
    with pytest.raises(ClusterFailed, match="not found"):
        lab.cluster.kubectl("get", "namespace", place.name)
