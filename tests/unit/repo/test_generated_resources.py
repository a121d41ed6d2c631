"""Definitions, documentation and manifests are what the dataclasses say; samples are taken."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.config import cluster_config, topic_config
from barnabas_operator.api.crd import definition
from barnabas_operator.api.kinds import CLUSTER, RESOURCES
from barnabas_operator.api.parsing import parse
from barnabas_operator.api.topic import TopicSpec
from barnabas_operator.install.dashboard import PANELS
from barnabas_operator.install.objects import Installation
from tests.support.blueprints import SAMPLES, sample_documents
from tests.support.cel_rules import refusals
from tools import gen_resources

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "barnabas"
SAMPLE_NAMES = sorted(path.stem for path in SAMPLES.glob("*.yaml"))


def _values() -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return values


def test_generating_again_changes_nothing() -> None:
    for path, text in gen_resources.documents().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `make gen`"


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_a_sample_is_taken(name: str) -> None:
    schemas = {
        one.kind: definition(one)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for one in RESOURCES
    }
    for document in sample_documents(name):
        assert refusals(schemas[document["kind"]], document) == []
        if document["kind"] == CLUSTER.kind:
            cluster_config(parse(ClusterSpec, document["spec"]).config)
        else:
            topic_config(parse(TopicSpec, document["spec"]).config)


def test_the_smallest_cluster_has_fewer_than_fifteen_lines() -> None:
    lines = (SAMPLES / "smallest.yaml").read_text(encoding="utf-8").splitlines()

    assert len([line for line in lines if line.strip() and not line.startswith("#")]) < 15


def test_the_notes_of_the_chart_show_the_smallest_cluster() -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<<EOF\n(.*?)\n  EOF", notes, re.DOTALL)

    assert [yaml.safe_load(shown)] == sample_documents("smallest")


def test_alerts_and_dashboard_use_metrics_that_there_are() -> None:
    documented = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(\w+)`", documented, re.MULTILINE))
    alerts = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
    expressions = [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    expressions += [query for panel in PANELS for query, _ in panel.queries]

    for expression in expressions:
        used = {
            name.removesuffix("_bucket")
            for name in re.findall(r"\b(?:barnabas|process)_\w+", expression)
            if name != "barnabas_dev_cluster"
        }
        assert used, expression
        assert used <= known, expression


def test_the_manifests_are_installed_as_the_chart_is_by_default() -> None:
    values, default = _values(), Installation()

    assert values["image"]["prefix"] == default.image_prefix
    assert values["image"]["pullPolicy"] == default.pull_policy
    assert values["replicas"] == default.replicas
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == default.tag


def test_the_chart_keeps_the_definitions_when_it_goes() -> None:
    for resource in RESOURCES:
        text = (CHART / "templates" / f"crd-{resource.plural}.yaml").read_text(encoding="utf-8")
        assert "helm.sh/resource-policy: keep" in text
        assert text.splitlines()[1] == "{{- if .Values.crds.install }}"
