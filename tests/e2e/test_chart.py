"""The chart over its life: upgraded, tested, uninstalled under a running cluster."""

from pathlib import Path

from tests.support.kafka_resource import KafkaResource
from tests.support.kind_lab import Place

CHART = str(Path(__file__).parents[2] / "charts" / "barnabas")


def test_an_upgrade_with_other_values_leaves_clusters_alone(
    orders: KafkaResource, operator: Place
) -> None:
    before = orders.pods()
    where = ("--namespace", operator.name, "--reuse-values", "--wait", "--timeout", "300s")

    operator.cluster.helm("upgrade", "barnabas", CHART, *where, "--set", "replicas=2")

    operator.wait_ready("app.kubernetes.io/name=barnabas-operator", 2)
    orders.wait()
    assert orders.pods() == before
    operator.cluster.helm("upgrade", "barnabas", CHART, *where, "--set", "replicas=1")


def test_helms_own_test_writes_and_reads(orders: KafkaResource, operator: Place) -> None:
    said = operator.cluster.helm("test", "barnabas", "--namespace", operator.name, "--timeout=600s")

    assert "Succeeded" in said


def test_clusters_outlive_the_operator(orders: KafkaResource, operator: Place) -> None:
    before, release = orders.pods(), ("barnabas", "--namespace", operator.name)
    values = operator.cluster.helm("get", "values", *release, "--output", "json")
    operator.cluster.helm("uninstall", *release, "--wait")
    try:
        assert orders.get()["metadata"]["name"] == orders.name
        assert orders.pods() == before
        arguments = (orders.bootstrap, "unattended", "100", "--create=3,3")
        verdict = orders.place.run_client("unattended", "round_trip.py", *arguments)
        assert verdict["read"] == 100
    finally:
        file = Path(operator.cluster.kubeconfig).with_name("values.json")
        file.write_text(values)
        install = ("install", "barnabas", CHART, "--namespace", operator.name)
        operator.cluster.helm(*install, "--values", str(file), "--wait", "--timeout", "300s")
