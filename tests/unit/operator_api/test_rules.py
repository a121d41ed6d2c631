"""What is refused when a resource is applied, and that each rule refuses something."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas_operator.api.crd import definition
from barnabas_operator.api.kinds import RESOURCES
from barnabas_operator.api.owned_keys import CLUSTER_KEYS
from tests.support.cel_rules import refusals
from tests.support.resource_cases import ALL_CASES, CLUSTER, GOOD, Case

SCHEMAS: dict[str, dict[str, Any]] = {
    one.kind: definition(one)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for one in RESOURCES
}


def _refusals(resource: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return refusals(SCHEMAS[resource["kind"]], resource, old)


def _messages(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", ()):
            if isinstance(rule, dict):
                yield rule["message"]
        for part in schema.values():
            yield from _messages(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _messages(part)


@pytest.mark.parametrize("resource", GOOD, ids=lambda one: one["metadata"]["name"])
def test_what_is_good_is_taken_and_may_stay_as_it_is(resource: dict[str, Any]) -> None:
    assert _refusals(resource) == []
    assert _refusals(resource, resource) == []


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.title)
def test_what_cannot_be_is_refused_with_its_reason(case: Case) -> None:
    old = case.good if case.is_change else None

    told = _refusals(case.resource, old)

    assert any(case.message in line for line in told), told


@pytest.mark.parametrize("case", [one for one in ALL_CASES if one.is_change], ids=lambda c: c.title)
def test_what_cannot_be_changed_to_may_be_there_from_the_start(case: Case) -> None:
    about_change = case.message

    assert not any(about_change in line for line in _refusals(case.resource))


def test_every_rule_of_the_specs_has_a_case_that_it_refuses() -> None:
    told = {
        line.partition(": ")[2]
        for case in ALL_CASES
        for line in _refusals(case.resource, case.good if case.is_change else None)
    }
    rules = {
        message
        for schema in SCHEMAS.values()
        for message in (
            *_messages(schema["properties"]["spec"]),
            *(rule["message"] for rule in schema["x-kubernetes-validations"]),
        )
    }

    owned = {one for one in rules if " is set by the operator: " in one}

    assert rules - owned - told == set()
    assert len(owned) == len(CLUSTER_KEYS)


@pytest.mark.parametrize("name", CLUSTER_KEYS)
def test_a_property_of_the_operators_is_refused_by_name_and_null_leaves_it_alone(name: str) -> None:
    taken = Case(CLUSTER, f"spec/config/{name}", None, "").resource
    refused = Case(CLUSTER, f"spec/config/{name}", "x", "").resource

    assert _refusals(taken) == []
    (line,) = _refusals(refused)
    assert line.startswith(f".spec.config.{name}: {name} is set by the operator: ")


def test_disks_and_pools_are_told_apart_by_name_not_by_place() -> None:
    reordered = Case(CLUSTER, "spec/brokers", CLUSTER["spec"]["brokers"][::-1], "").resource

    assert _refusals(reordered, CLUSTER) == []


def test_a_disk_may_grow_and_another_may_come() -> None:
    larger = Case(CLUSTER, "spec/brokers/0/storage/0/size", "20Gi", "").resource
    more = Case(CLUSTER, "spec/brokers/0/storage/1", {"name": "second", "size": "1Gi"}, "").resource

    assert _refusals(larger, CLUSTER) == []
    assert _refusals(more, CLUSTER) == []


def test_what_is_given_once_stays_in_the_status() -> None:
    before = CLUSTER | {
        "status": {
            "clusterId": "a",
            "quorumFormed": True,
            "initialControllers": [1],
            "pools": [{"name": "main", "role": "broker", "firstNodeId": 0}],
        }
    }

    def after(**changes: Any) -> list[str]:
        return _refusals(before | {"status": before["status"] | changes}, before)

    assert after() == []
    assert "a cluster's id is made once" in after(clusterId="b")[0]
    assert "a quorum is formed once" in after(quorumFormed=False)[0]
    assert "are chosen once" in after(initialControllers=[2])[0]
    pool = {"name": "main", "role": "broker", "firstNodeId": 1000}
    assert "node ids are given once" in after(pools=[pool])[0]
    forgotten = {key: one for key, one in before["status"].items() if key != "clusterId"}
    assert "never forgotten" in _refusals(before | {"status": forgotten}, before)[0]
