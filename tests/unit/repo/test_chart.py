"""The chart, rendered by helm: what it installs by default is what the manifests install."""

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas_operator.install.objects import Installation, install_objects
from barnabas_pipeline.fetch.cache import cache_dir

# A helm that was built from its module takes the cluster for an old one.
KUBERNETES = ("--kube-version", "1.33.4")
CHART = Path(__file__).parents[3] / "charts" / "barnabas"


@pytest.fixture(scope="module")
def helm() -> str:
    built = sorted(cache_dir().glob("kube/bin/helm-*/helm"))
    found = shutil.which("helm") or (str(built[-1]) if built else None)
    if found is None:
        pytest.skip("helm is not here: `make e2e` builds it")
    return found


def _render(helm: str, *options: str) -> list[dict[str, Any]]:
    command = [helm, "template", "barnabas", str(CHART), "--namespace", "barnabas-system"]
    done = subprocess.run(
        [*command, *KUBERNETES, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one is not None]


def _by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in objects
    }


def test_helm_finds_nothing_to_complain_of(helm: str) -> None:
    done = subprocess.run(
        [helm, "lint", "--strict", str(CHART)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_the_chart_installs_what_the_manifests_install(helm: str) -> None:
    rendered = _by_name(_render(helm))

    for key, one in _by_name(install_objects(Installation())).items():
        if one["kind"] != "Namespace":
            assert rendered[key] == one


def test_with_namespaces_no_right_is_given_elsewhere(helm: str) -> None:
    rendered = _render(helm, "--set", "watchNamespaces={one,two}")

    (everywhere,) = [one for one in rendered if one["kind"] == "ClusterRole"]
    verbs = {verb for rule in everywhere["rules"] for verb in rule["verbs"]}
    places = {one["metadata"]["namespace"] for one in rendered if one["kind"] == "Role"}

    assert verbs == {"get", "list", "watch"}
    assert places == {"one", "two", "barnabas-system"}
    (deployment,) = [one for one in rendered if one["kind"] == "Deployment"]
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "BARNABAS_NAMESPACES", "value": "one,two"} in variables


def test_definitions_stay_when_the_chart_goes_and_can_be_left_out(helm: str) -> None:
    kind = "CustomResourceDefinition"
    kept = [one for one in _render(helm) if one["kind"] == kind]
    without = [one for one in _render(helm, "--set", "crds.install=false") if one["kind"] == kind]

    assert len(kept) == 2
    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in kept} == {"keep"}
    assert without == []


def test_after_the_end_topics_are_released_with_rights_for_that_alone(helm: str) -> None:
    rendered = _render(helm, "--set", "watchNamespaces={one}")
    hooks = [
        one
        for one in rendered
        if one["metadata"].get("annotations", {}).get("helm.sh/hook") == "post-delete"
    ]

    (job,) = [one for one in hooks if one["kind"] == "Job"]
    pod = job["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] in [
        one["metadata"]["name"] for one in hooks if one["kind"] == "ServiceAccount"
    ]
    assert find_spec(pod["containers"][0]["command"][-1]) is not None
    granted = {
        (resource, verb)
        for one in hooks
        for rule in one.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if resource != "leases"
    }
    assert granted == {("kafkatopics", verb) for verb in ("get", "list", "patch")}


def test_monitoring_is_whole(helm: str) -> None:
    rendered = {one["kind"]: one for one in _render(helm, "--set", "monitoring.enabled=true")}

    assert {"ServiceMonitor", "PodMonitor", "PrometheusRule"} <= rendered.keys()
    assert json.loads(rendered["ConfigMap"]["data"]["barnabas.json"])["title"] == "Barnabas"
    assert "{{ $labels.barnabas_dev_cluster }}" in str(rendered["PrometheusRule"])


@pytest.mark.parametrize("wrong", ["replicas=many", "imge.tag=1", "image.pullPolicy=Sometimes"])
def test_a_mistake_in_the_values_is_refused(helm: str, wrong: str) -> None:
    done = subprocess.run(
        [helm, "template", "barnabas", str(CHART), *KUBERNETES, "--set", wrong],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert wrong.partition(".")[0].partition("=")[0] in done.stderr
