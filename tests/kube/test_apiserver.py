"""The API that the tests of this folder stand on is a real one: it validates, and acts."""

import json
import subprocess
from typing import Any

import pytest

from tests.support.controller_process import until
from tools.kube.apiserver import ApiServer

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "volumes.test.barnabas.dev"},
    "spec": {
        "group": "test.barnabas.dev",
        "scope": "Namespaced",
        "names": {"plural": "volumes", "singular": "volume", "kind": "Volume"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "size": {
                                "type": "integer",
                                "x-kubernetes-validations": [
                                    {"rule": "self >= oldSelf", "message": "never shrinks"}
                                ],
                            }
                        },
                    }
                },
            }
        ],
    },
}
STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "broker"},
    "spec": {
        "serviceName": "broker",
        "replicas": 3,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "broker"}},
        "template": {
            "metadata": {"labels": {"app": "broker"}},
            "spec": {"containers": [{"name": "broker", "image": "none"}]},
        },
    },
}


def volume(size: int) -> str:
    made = {"apiVersion": "test.barnabas.dev/v1", "kind": "Volume", "metadata": {"name": "disk"}}
    return json.dumps(made | {"size": size})


def pods(api: ApiServer, namespace: str) -> list[dict[str, Any]]:
    found = json.loads(api.kubectl("get", "pods", "-n", namespace, "-o", "json"))
    items: list[dict[str, Any]] = found["items"]
    return items


def test_rules_of_a_custom_resource_are_enforced(kube_api: ApiServer, kube_namespace: str) -> None:
    kube_api.kubectl("apply", "-f", "-", stdin=json.dumps(CRD))
    kube_api.kubectl("wait", "--for=condition=Established", "crd/volumes.test.barnabas.dev")
    kube_api.kubectl("apply", "-n", kube_namespace, "-f", "-", stdin=volume(2))

    with pytest.raises(subprocess.CalledProcessError) as refused:
        kube_api.kubectl("apply", "-n", kube_namespace, "-f", "-", stdin=volume(1))

    assert "never shrinks" in refused.value.stderr


def test_a_stateful_set_makes_pods_and_takes_them_with_it(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    kube_api.kubectl("apply", "-n", kube_namespace, "-f", "-", stdin=json.dumps(STATEFUL_SET))
    until(lambda: len(pods(kube_api, kube_namespace)) == 3, "three pods are made", 60)

    kube_api.kubectl("delete", "-n", kube_namespace, "statefulset", "broker")

    until(lambda: pods(kube_api, kube_namespace) == [], "its pods go with it", 60)


def test_a_pod_is_ready_when_a_test_says_so(kube_api: ApiServer, kube_namespace: str) -> None:
    kube_api.kubectl("apply", "-n", kube_namespace, "-f", "-", stdin=json.dumps(STATEFUL_SET))
    until(lambda: len(pods(kube_api, kube_namespace)) == 3, "three pods are made", 60)
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}

    for pod in pods(kube_api, kube_namespace):
        where = ("-n", kube_namespace, "pod", pod["metadata"]["name"], "--subresource=status")
        kube_api.kubectl("patch", *where, "--type=merge", "-p", json.dumps({"status": ready}))

    asked = ("get", "-n", kube_namespace, "statefulset", "broker")
    until(
        lambda: kube_api.kubectl(*asked, "-o", "jsonpath={.status.readyReplicas}") == "3",
        "the StatefulSet counts three ready pods",
        60,
    )
