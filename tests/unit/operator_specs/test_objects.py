"""Services, budgets, network rules and disks."""

import copy
from typing import Any

from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.cluster_objects import cluster_objects
from barnabas_operator.specs.node_facts import (
    Address,
    Surroundings,
    facts_text,
    missing_words,
    node_facts,
)
from barnabas_operator.specs.stateful_sets import stateful_set
from barnabas_operator.specs.volumes import with_live_claims
from tests.support.blueprints import LARGE, SMALL, blueprint_of

OUTSIDE: dict[str, Any] = {
    "listeners": [
        {"name": "plain", "port": 9092, "type": "internal"},
        {
            "name": "outside",
            "port": 9094,
            "type": "nodeport",
            "advertised": [{"nodeId": 1, "host": "b1.example", "nodePort": 30001}],
        },
        {
            "name": "cloud",
            "port": 9095,
            "type": "loadbalancer",
            "annotations": {"example.com/a": "b"},
            "sourceRanges": ["10.0.0.0/8"],
        },
    ]
}
PORTS = {"outside": Address("", 31000), "cloud": Address("lb.example", 9095)}


def _objects(blueprint: Blueprint, kind: str) -> dict[str, dict[str, Any]]:
    found = [one for one in cluster_objects(blueprint) if one["kind"] == kind]
    return {one["metadata"]["name"]: one for one in found}


def test_everything_belongs_to_the_cluster_and_has_a_name_of_its_own() -> None:
    blueprint = blueprint_of(LARGE | OUTSIDE)
    objects = cluster_objects(blueprint)

    names = [(one["kind"], one["metadata"]["name"]) for one in objects]

    assert len(set(names)) == len(names)
    for one in objects:
        assert one["metadata"]["ownerReferences"] == [blueprint.owner_reference]
        assert one["metadata"]["namespace"] == "kafka"
        assert one["metadata"]["labels"]["barnabas.dev/cluster"] == "demo"
        assert len(one["metadata"]["name"]) <= 63


def test_the_same_blueprint_gives_the_same_objects() -> None:
    assert cluster_objects(blueprint_of(LARGE)) == cluster_objects(blueprint_of(LARGE))


def test_a_pod_never_counts_for_two_budgets() -> None:
    for spec in (SMALL, LARGE):
        blueprint = blueprint_of(spec)
        budgets = _objects(blueprint, "PodDisruptionBudget").values()
        for node_set in blueprint.node_sets:
            labels = stateful_set(node_set)["spec"]["template"]["metadata"]["labels"]
            covering = [
                one
                for one in budgets
                if one["spec"]["selector"]["matchLabels"].items() <= labels.items()
            ]
            assert len(covering) == 1, node_set.pool


def test_only_the_cluster_and_its_operator_reach_links_and_quorum() -> None:
    policies = _objects(blueprint_of(LARGE), "NetworkPolicy")

    inside, metrics = policies["demo-nodes"]["spec"]["ingress"]
    (listeners,) = policies["demo-listeners"]["spec"]["ingress"]

    assert [one["port"] for one in inside["ports"]] == [9093, 10093]
    assert len(inside["from"]) == 2
    assert "from" not in metrics
    assert [one["port"] for one in metrics["ports"]] == [9404]
    assert listeners == {"ports": [{"protocol": "TCP", "port": 9092}]}


def test_names_of_pods_are_known_before_they_are_ready() -> None:
    services = _objects(blueprint_of(LARGE), "Service")

    for pool in ("main", "controllers", "group"):
        spec = services[f"demo-{pool}"]["spec"]
        assert spec["clusterIP"] == "None"
        assert spec["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in services["demo-plain-bootstrap"]["spec"]


def test_outside_each_broker_has_a_service_of_its_own() -> None:
    services = _objects(blueprint_of(LARGE | OUTSIDE), "Service")

    assert services["demo-outside-bootstrap"]["spec"]["type"] == "NodePort"
    assert [
        services[f"demo-outside-{n}"]["spec"]["ports"][0].get("nodePort") for n in range(3)
    ] == [
        None,
        30001,
        None,
    ]
    cloud = services["demo-cloud-2"]
    assert cloud["spec"]["selector"]["statefulset.kubernetes.io/pod-name"] == "demo-main-2"
    assert cloud["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/8"]
    assert cloud["metadata"]["annotations"] == {"example.com/a": "b"}
    assert "demo-plain-0" not in services


def test_facts_are_given_when_all_of_them_are_known() -> None:
    racks = LARGE | OUTSIDE | {"rack": {"topologyKey": "zone"}}
    (pool,) = [one for one in blueprint_of(racks).node_sets if one.is_broker]
    seen = Surroundings("zone-a", "192.0.2.7", PORTS)

    assert node_facts(pool, 0, seen) == {
        "RACK": "zone-a",
        "ADVERTISED_OUTSIDE": "192.0.2.7:31000",
        "ADVERTISED_CLOUD": "lb.example:9095",
    }
    assert node_facts(pool, 0, Surroundings(None, "192.0.2.7", PORTS)) is None
    assert node_facts(pool, 0, Surroundings("zone-a", None, PORTS)) is None
    waiting = PORTS | {"cloud": None}
    assert node_facts(pool, 0, Surroundings("zone-a", "192.0.2.7", waiting)) is None


def test_what_a_pod_waits_for_has_words() -> None:
    racks = LARGE | OUTSIDE | {"rack": {"topologyKey": "zone"}}
    (pool,) = [one for one in blueprint_of(racks).node_sets if one.is_broker]
    waiting = Surroundings(None, "192.0.2.7", PORTS | {"cloud": None})

    assert missing_words(pool, 0, waiting, "worker-1") == (
        "the label zone of node worker-1",
        "an address of listener cloud (loadbalancer)",
    )
    assert missing_words(pool, 0, Surroundings("zone-a", "192.0.2.7", PORTS), "worker-1") == ()


def test_what_the_user_advertises_comes_before_what_kubernetes_says() -> None:
    (pool,) = [one for one in blueprint_of(LARGE | OUTSIDE).node_sets if one.is_broker]

    facts = node_facts(pool, 1, Surroundings(None, "192.0.2.7", PORTS))

    assert facts is not None
    assert facts["ADVERTISED_OUTSIDE"] == "b1.example:31000"


def test_an_address_of_version_six_is_written_in_brackets() -> None:
    (pool,) = [one for one in blueprint_of(LARGE | OUTSIDE).node_sets if one.is_broker]

    facts = node_facts(pool, 0, Surroundings(None, "2001:db8::1", PORTS))

    assert facts is not None
    assert facts["ADVERTISED_OUTSIDE"] == "[2001:db8::1]:31000"


def test_equal_facts_are_equal_texts() -> None:
    assert facts_text({"b": "1", "a": "2"}) == facts_text({"a": "2", "b": "1"})


def test_pods_that_are_not_empty_stay() -> None:
    (pool,) = [
        one
        for one in blueprint_of(LARGE, held_replicas={"main": 5}).node_sets
        if one.pool == "main"
    ]

    assert stateful_set(pool)["spec"]["replicas"] == 5


def test_a_larger_disk_changes_no_stateful_set_and_another_disk_makes_it_anew() -> None:
    def of(storage: list[dict[str, Any]]) -> dict[str, Any]:
        spec = copy.deepcopy(LARGE)
        spec["brokers"][0]["storage"] = storage
        return stateful_set(blueprint_of(spec).node_sets[-1])

    live = of([{"size": "1Gi"}])
    live["spec"]["volumeClaimTemplates"][0]["status"] = {"phase": "Pending"}

    larger, is_new = with_live_claims(of([{"size": "2Gi"}]), live)
    more, is_more_new = with_live_claims(of([{"size": "1Gi"}, {"name": "b", "size": "1Gi"}]), live)
    first, is_first_new = with_live_claims(of([{"size": "2Gi"}]), None)

    kept = larger["spec"]["volumeClaimTemplates"][0]
    assert (is_new, kept["spec"]["resources"]["requests"]["storage"]) == (False, "1Gi")
    assert "status" not in kept
    assert (is_more_new, len(more["spec"]["volumeClaimTemplates"])) == (True, 2)
    assert (is_first_new, first) == (False, of([{"size": "2Gi"}]))
