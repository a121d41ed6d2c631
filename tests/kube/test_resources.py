"""The definitions and manifests, as a real API server takes them."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barnabas_operator.api.kinds import CLUSTER, RESOURCES
from barnabas_operator.api.status import PENDING_REASON
from barnabas_operator.specs.cluster_objects import cluster_objects
from tests.support.blueprints import (
    LARGE,
    SAMPLES,
    blueprint_of,
    sample_blueprint,
    sample_documents,
)
from tests.support.resource_cases import ALL_CASES, GOOD, Case
from tools.kube.apiserver import ApiServer

MANIFESTS = Path(__file__).parents[2] / "manifests"


@pytest.fixture(scope="module")
def api(kube_api: ApiServer) -> ApiServer:
    """With the definitions, as `kubectl apply` installs them."""
    kube_api.kubectl("apply", "--server-side", "-f", str(MANIFESTS / "crds"))
    names = [f"crd/{one.name}" for one in RESOURCES]
    kube_api.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    return kube_api


def _apply(
    api: ApiServer, namespace: str, resource: dict[str, Any], *options: str
) -> dict[str, Any]:
    placed = resource | {"metadata": resource["metadata"] | {"namespace": namespace}}
    # On the side of the server: the other way takes a null in `config` for an order to delete.
    command = ("apply", "--server-side", "-o", "json", *options, "-f", "-")
    applied: dict[str, Any] = json.loads(api.kubectl(*command, stdin=json.dumps(placed)))
    return applied


@pytest.mark.parametrize("resource", GOOD, ids=lambda one: one["metadata"]["name"])
def test_what_is_good_is_taken_and_may_be_applied_again(
    api: ApiServer, kube_namespace: str, resource: dict[str, Any]
) -> None:
    # The second time writes the status that the definition has as default; then all is said.
    versions = [
        _apply(api, kube_namespace, resource)["metadata"]["resourceVersion"] for _ in range(3)
    ]

    assert versions[1] == versions[2]


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.title)
def test_what_cannot_be_is_refused_with_its_reason(
    api: ApiServer, kube_namespace: str, case: Case
) -> None:
    if case.is_change:
        _apply(api, kube_namespace, case.good)

    with pytest.raises(subprocess.CalledProcessError) as caught:
        _apply(api, kube_namespace, case.resource, "--dry-run=server")

    assert case.message in caught.value.stderr


def test_an_object_that_nobody_has_seen_is_not_taken_for_healthy(
    api: ApiServer, kube_namespace: str
) -> None:
    seen = _apply(api, kube_namespace, GOOD[0])

    conditions = {one["type"]: one for one in seen["status"]["conditions"]}

    assert set(conditions) == set(CLUSTER.conditions)
    assert {one["status"] for one in conditions.values()} == {"Unknown"}
    assert {one["reason"] for one in conditions.values()} == {PENDING_REASON}


def test_no_default_is_written_into_the_spec(api: ApiServer, kube_namespace: str) -> None:
    for resource in GOOD:
        applied = _apply(api, kube_namespace, resource)
        spec = json.loads(json.dumps(applied["spec"]))
        for pool in spec.get("brokers", []):
            for disk in pool["storage"]:
                disk.pop("name")
        if "controllers" in spec:
            spec["controllers"]["storage"].pop("name")
        wanted = json.loads(json.dumps(resource["spec"]))
        for pool in wanted.get("brokers", []):
            for disk in pool["storage"]:
                disk.pop("name", None)
        assert spec == wanted


def test_kubectl_shows_the_columns(api: ApiServer, kube_namespace: str) -> None:
    _apply(api, kube_namespace, GOOD[0])

    header, line = api.kubectl("get", "bkc", "-n", kube_namespace).splitlines()

    assert header.split() == ["NAME", "READY", "BROKERS", "CONTROLLERS", "VERSION", "STABLE", "AGE"]
    assert line.split()[:2] == ["demo", "Unknown"]
    assert "demo" in api.kubectl("get", "barnabas", "-n", kube_namespace)


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.yaml")))
def test_the_objects_of_a_sample_are_taken_and_applying_them_again_writes_nothing(
    api: ApiServer, kube_namespace: str, name: str
) -> None:
    (cluster,) = [one for one in sample_documents(name) if one["kind"] == CLUSTER.kind]
    uid = _apply(api, kube_namespace, cluster)["metadata"]["uid"]
    blueprint = replace(sample_blueprint(name), namespace=kube_namespace, uid=uid)

    for one in cluster_objects(blueprint):
        first = _apply(api, kube_namespace, one, "--field-manager=barnabas-operator")
        second = _apply(api, kube_namespace, one, "--field-manager=barnabas-operator")
        versions = [found["metadata"]["resourceVersion"] for found in (first, second)]
        assert _without_status(first) == _without_status(second), one["metadata"]["name"]
        if one["kind"] not in ("StatefulSet", "PodDisruptionBudget"):
            assert versions[0] == versions[1], one["metadata"]["name"]


def _without_status(resource: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        key: value
        for key, value in resource["metadata"].items()
        if key not in ("resourceVersion", "managedFields")
    }
    return {**resource, "metadata": metadata, "status": None}


def test_a_pod_is_named_after_its_node_id_and_told_it(api: ApiServer, kube_namespace: str) -> None:
    for one in cluster_objects(blueprint_of(LARGE)):
        if one["kind"] in ("ConfigMap", "StatefulSet"):
            one["metadata"] |= {"namespace": kube_namespace}
            one["metadata"].pop("ownerReferences")
            _apply(api, kube_namespace, one)

    api.kubectl(
        "wait", "--for=create", "pod/demo-controllers-100002", "-n", kube_namespace, "--timeout=60s"
    )
    pod = json.loads(
        api.kubectl("get", "pod", "demo-controllers-100002", "-n", kube_namespace, "-o", "json")
    )

    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "100002"


def test_the_operator_is_installed_without_helm(api: ApiServer) -> None:
    text = api.kubectl("apply", "-f", str(MANIFESTS / "operator.yaml"))

    assert "deployment.apps/barnabas-operator" in text
