"""Blueprints of clusters for tests, from the samples or from a spec written down."""

from pathlib import Path
from typing import Any, Final

import yaml

from barnabas_core.config.definition import Kind, definition
from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.config import cluster_config
from barnabas_operator.api.parsing import parse
from barnabas_operator.api.status import ClusterStatus
from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.identity import identity_of

SAMPLES: Final = Path(__file__).resolve().parents[2] / "manifests" / "samples"
SMALL: Final[dict[str, Any]] = {
    "brokers": [
        {
            "name": "main",
            "replicas": 1,
            "roles": ["broker", "controller"],
            "storage": [{"size": "1Gi"}],
        }
    ]
}
LARGE: Final[dict[str, Any]] = {
    "controllers": {"replicas": 3, "storage": {"size": "1Gi"}},
    "brokers": [{"name": "main", "replicas": 3, "storage": [{"size": "1Gi"}]}],
    "coordinators": {"group": {"replicas": 2}},
}


def sample_documents(name: str) -> list[dict[str, Any]]:
    text = (SAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    return [one for one in yaml.safe_load_all(text) if one is not None]


def sample_blueprint(name: str) -> Blueprint:
    cluster = next(one for one in sample_documents(name) if one["kind"] == "KafkaCluster")
    return blueprint_of(cluster["spec"], cluster["metadata"]["name"])


def blueprint_of(spec: dict[str, Any], name: str = "demo", **more: Any) -> Blueprint:
    """As an operator that sees the cluster for the first time would have it."""
    parsed = parse(ClusterSpec, spec)
    identity = identity_of(parsed, ClusterStatus(), lambda: bytes(range(16)))
    texts = cluster_config(parsed.config)
    given: dict[str, Any] = {
        "static_config": {
            key: text
            for key, text in texts.items()
            if text is not None and definition(Kind.BROKER, key).update_mode == "read-only"
        },
        "initial_controllers": identity.initial_controllers,
    }
    return Blueprint(
        name=name,
        namespace="kafka",
        uid="6f1e2d3c-0000-4000-8000-000000000001",
        spec=parsed,
        cluster_id=identity.cluster_id,
        first_node_ids=identity.first_node_ids,
        **(given | more),
    )
