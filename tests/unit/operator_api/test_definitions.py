"""The definitions obey what Kubernetes asks of them, and the conventions."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas_operator.api.crd import definition
from barnabas_operator.api.kinds import CLUSTER, RESOURCES, Resource

MANY = pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.kind)
STRUCTURAL_DEFAULTS = {"name"}


def _version(resource: Resource) -> dict[str, Any]:
    version: dict[str, Any] = definition(resource)["spec"]["versions"][0]
    return version


def _parts(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from _parts(part, f"{path}.{name}")
    for member, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(member), dict):
            yield from _parts(schema[member], path + mark)


def _schema(resource: Resource) -> dict[str, Any]:
    schema: dict[str, Any] = _version(resource)["schema"]["openAPIV3Schema"]
    return schema


@MANY
def test_everything_is_bounded_as_the_cost_of_rules_is_counted_by_bounds(
    resource: Resource,
) -> None:
    for path, part in _parts(_schema(resource)["properties"]["spec"], "spec"):
        kind = part.get("type")
        if kind == "array":
            assert "maxItems" in part, path
        if kind == "string" and "enum" not in part:
            assert "maxLength" in part, path
        if "additionalProperties" in part:
            assert "maxProperties" in part, path


@MANY
def test_no_default_that_could_be_tuned_is_written_into_objects(resource: Resource) -> None:
    spec = _schema(resource)["properties"]["spec"]
    defaults = {path.rpartition(".")[2] for path, part in _parts(spec) if "default" in part}

    assert defaults <= STRUCTURAL_DEFAULTS


@MANY
def test_the_keys_of_a_keyed_list_are_always_there(resource: Resource) -> None:
    for path, part in _parts(_schema(resource)):
        for key in part.get("x-kubernetes-list-map-keys", ()):
            members = part["items"]
            is_default = "default" in members["properties"][key]
            assert key in members.get("required", ()) or is_default, path


@MANY
def test_every_list_says_how_it_is_merged(resource: Resource) -> None:
    for path, part in _parts(_schema(resource)):
        assert part.get("type") != "array" or "x-kubernetes-list-type" in part, path


@MANY
def test_every_field_is_explained(resource: Resource) -> None:
    for path, part in _parts(_schema(resource)):
        is_named = path and not path.endswith(("[]", "{}")) and ".config." not in path
        if is_named and path not in (".apiVersion", ".kind", ".metadata"):
            assert part.get("description"), path


@MANY
def test_conditions_are_unknown_before_an_operator_has_seen_the_object(resource: Resource) -> None:
    status = _schema(resource)["properties"]["status"]

    conditions = status["default"]["conditions"]

    assert [one["type"] for one in conditions] == list(resource.conditions)
    assert {one["status"] for one in conditions} == {"Unknown"}
    required = status["properties"]["conditions"]["items"]["required"]
    assert all(set(required) <= set(one) for one in conditions)


@MANY
def test_age_is_among_the_columns(resource: Resource) -> None:
    columns = _version(resource)["additionalPrinterColumns"]

    assert columns[-1] == {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    assert "Ready" in [one["name"] for one in columns]


def test_names_do_not_collide_with_those_of_other_operators() -> None:
    names = [definition(one)["spec"]["names"] for one in RESOURCES]
    taken_elsewhere = {"k", "kt", "ku", "kafka", "kc"}

    short = [name for one in names for name in one["shortNames"]]

    assert len(set(short)) == len(short)
    assert not set(short) & taken_elsewhere
    assert {tuple(one["categories"]) for one in names} == {("barnabas",)}


def test_a_refusal_of_the_operators_property_is_in_the_definition() -> None:
    config = _schema(CLUSTER)["properties"]["spec"]["properties"]["config"]

    rule = config["properties"]["node.id"]["x-kubernetes-validations"][0]

    assert rule["rule"] == "false"
    assert rule["message"].startswith("node.id is set by the operator")
    assert config["x-kubernetes-preserve-unknown-fields"] is True
