"""From an empty cluster to one that serves clients."""

import pytest

from tests.support.kafka_resource import KafkaResource


@pytest.mark.smoke
def test_a_cluster_becomes_stable_with_every_role_in_three_zones(orders: KafkaResource) -> None:
    status = orders.get()["status"]

    assert status["ready"] == {"brokers": "3/3", "controllers": "3/3", "coordinators": "2/2"}
    for role in ("broker", "controller"):
        pods = orders.place.get("pods", "-l", f"barnabas.dev/{role}")["items"]
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 3


@pytest.mark.smoke
def test_what_a_client_pod_writes_a_group_reads(orders: KafkaResource) -> None:
    arguments = (orders.bootstrap, "greetings", "1000", "--create=3,3")

    verdict = orders.place.run_client("round-trip", "round_trip.py", *arguments)

    assert verdict["read"] == 1000


def test_every_pod_is_closed_as_the_restricted_standard_asks(orders: KafkaResource) -> None:
    """Kubernetes itself judges: the label makes it refuse what is not."""
    label = "pod-security.kubernetes.io/enforce=restricted"

    said = orders.place.cluster.kubectl(
        "label", "--dry-run=server", "--overwrite", "namespace", orders.place.name, label
    )

    assert "Warning" not in said
