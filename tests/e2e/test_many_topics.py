"""Many KafkaTopics at once: how long they take, and what the operator weighs then."""

import json
import time

import pytest

from tests.support.kafka_resource import KafkaResource, resource
from tests.support.kind_lab import Place, note_figures, until

MANY_TIMEOUT_S = 900.0
TOPICS = "/apis/barnabas.dev/v1alpha1/namespaces/{}/kafkatopics"
MEMORY_LIMIT_MB = 512
"""What the chart allows the operator."""


@pytest.mark.parametrize("count", [100, 1000])
def test_many_topics_become_ready_together(
    orders: KafkaResource, operator: Place, count: int
) -> None:
    place, label = orders.place, f"example.com/many=of-{count}"
    begun_at = time.monotonic()
    place.apply(json.dumps(many_topics(count)))
    applied_s = time.monotonic() - begun_at

    until(lambda: ready_topics(place, label) == count, "all are Ready", MANY_TIMEOUT_S)

    ready_s = time.monotonic() - begun_at
    figures = {"applied after": round(applied_s), "Ready after": round(ready_s)}
    note_figures(f"{count} topics", figures | {"operator's MB": memory_mb(operator)})
    # In one request: kubectl would send a thousand, one after the other.
    place.kubectl("delete", "--raw", f"{TOPICS.format(place.name)}?labelSelector={label}")
    until(lambda: not place.get("kafkatopics", "-l", label)["items"], "all are gone", 600)
    assert memory_mb(operator) < MEMORY_LIMIT_MB


def many_topics(count: int) -> dict[str, object]:
    spec = {"clusterRef": {"name": "orders"}, "partitions": 1, "replicas": 3}
    topics = [resource("KafkaTopic", f"of-{count}-{number}", spec) for number in range(count)]
    for one in topics:
        one["metadata"]["labels"] = {"example.com/many": f"of-{count}"}
    return {"apiVersion": "v1", "kind": "List", "items": topics}


def ready_topics(place: Place, label: str) -> int:
    query = '{.items[*].status.conditions[?(@.type=="Ready")].status}'
    said = place.kubectl("get", "kafkatopics", "-l", label, "-o", f"jsonpath={query}")
    return said.split().count("True")


def memory_mb(operator: Place) -> int:
    """Of its process, the first of its container."""
    status = operator.kubectl("exec", "deployment/barnabas-operator", "--", "cat", "/proc/1/status")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return round(int(line.split()[1]) / 1000)
