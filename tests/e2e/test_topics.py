"""A KafkaTopic from its creation to its end, and what is refused on the way."""

import json

import pytest

from tests.support.kafka_resource import KafkaResource, resource
from tests.support.kind_lab import until
from tools.kube.kind_cluster import ClusterFailed

NAME = "payments"


def topic(partitions: int, **config: object) -> str:
    spec = {"clusterRef": {"name": "orders"}, "partitions": partitions, "replicas": 3}
    return json.dumps(resource("KafkaTopic", NAME, spec | {"config": config}))


@pytest.mark.smoke
def test_a_topic_is_made_grown_configured_and_deleted(orders: KafkaResource) -> None:
    place = orders.place
    ready = ("wait", "--for=condition=Ready", f"kafkatopic/{NAME}", "--timeout=120s")
    place.apply(topic(3))
    place.kubectl(*ready)

    place.apply(topic(6, **{"retention.ms": 3_600_000}))
    place.kubectl(*ready)
    status = place.get("kafkatopic", NAME)["status"]
    assert (status["partitions"], status["replicas"]) == (6, 3)

    place.kubectl("delete", "kafkatopic", NAME, "--timeout=60s")
    until(lambda: NAME not in place.kubectl("get", "kafkatopics"), "the topic is gone")


def test_fewer_partitions_are_refused_with_a_word(orders: KafkaResource) -> None:
    place = orders.place
    place.apply(topic(4))
    place.kubectl("wait", "--for=condition=Ready", f"kafkatopic/{NAME}", "--timeout=120s")
    try:
        with pytest.raises(ClusterFailed, match="partitions"):
            place.apply(topic(2))
    finally:
        place.kubectl("delete", "kafkatopic", NAME, "--timeout=60s")
