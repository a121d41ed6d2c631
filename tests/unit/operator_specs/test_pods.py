"""Pods: locked down, spread, and with a revision that changes exactly when they must restart."""

import copy
from typing import Any

import pytest

from barnabas_operator.specs.blueprint import Blueprint, Images
from barnabas_operator.specs.names import REVISION_ANNOTATION
from barnabas_operator.specs.stateful_sets import stateful_set
from tests.support.blueprints import LARGE, SMALL, blueprint_of, sample_blueprint

ZONES = {"rack": {"topologyKey": "topology.kubernetes.io/zone"}}


def _sets(blueprint: Blueprint) -> dict[str, dict[str, Any]]:
    return {one.pool: stateful_set(one) for one in blueprint.node_sets}


def _pod(blueprint: Blueprint, pool: str) -> dict[str, Any]:
    pod: dict[str, Any] = _sets(blueprint)[pool]["spec"]["template"]["spec"]
    return pod


def _revisions(spec: dict[str, Any], **more: Any) -> dict[str, str]:
    blueprint = blueprint_of(spec, **more)
    return {
        pool: one["spec"]["template"]["metadata"]["annotations"][REVISION_ANNOTATION]
        for pool, one in _sets(blueprint).items()
    }


@pytest.mark.parametrize("name", ["smallest", "development", "production"])
def test_every_container_is_restricted(name: str) -> None:
    for one in _sets(sample_blueprint(name)).values():
        pod = one["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*pod["initContainers"], *pod["containers"]):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            claims = one["spec"].get("volumeClaimTemplates", [])
            known = {volume["name"] for volume in pod["volumes"]}
            assert mounted <= known | {claim["metadata"]["name"] for claim in claims}


def test_nothing_restarts_or_waits_for_its_turn_by_itself() -> None:
    for one in _sets(blueprint_of(LARGE)).values():
        assert one["spec"]["updateStrategy"] == {"type": "OnDelete"}
        assert one["spec"]["podManagementPolicy"] == "Parallel"


def test_the_number_in_a_pods_name_is_its_node_id() -> None:
    two_pools = LARGE | {
        "brokers": [LARGE["brokers"][0], LARGE["brokers"][0] | {"name": "second"}],
    }

    starts = {
        pool: one["spec"]["ordinals"]["start"]
        for pool, one in _sets(blueprint_of(two_pools)).items()
    }

    assert starts == {"controllers": 100_000, "group": 200_000, "main": 0, "second": 1000}


def test_volumes_are_retained_unless_the_spec_says_delete() -> None:
    def policies(spec: dict[str, Any]) -> list[dict[str, str]]:
        sets = _sets(blueprint_of(spec)).values()
        return [
            one["spec"]["persistentVolumeClaimRetentionPolicy"]
            for one in sets
            if "volumeClaimTemplates" in one["spec"]
        ]

    kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert policies(LARGE) == [kept, kept]
    assert policies(LARGE | {"deletionPolicy": "Delete"}) == [kept | {"whenDeleted": "Delete"}] * 2


@pytest.mark.parametrize(
    ("change", "restarted"),
    [
        ({"version": "2"}, {"controllers", "group", "main"}),
        ({"metrics": {"port": 9500}}, {"controllers", "group", "main"}),
        (ZONES, {"controllers", "group", "main"}),
        ({"allowedNamespaces": ["a"]}, set()),
        ({"rollout": {"maxUnavailablePerRack": 3}}, set()),
        ({"deletionPolicy": "Delete"}, set()),
        ({"controllers": {"replicas": 5, "storage": {"size": "9Gi"}}}, set()),
    ],
)
def test_pods_restart_for_what_is_in_them_and_for_nothing_else(
    change: dict[str, Any], restarted: set[str]
) -> None:
    before, after = _revisions(LARGE), _revisions(LARGE | change)

    assert {pool for pool in before if before[pool] != after[pool]} == restarted


def test_more_brokers_or_other_addresses_restart_nobody() -> None:
    more = copy.deepcopy(LARGE)
    more["brokers"][0]["replicas"] = 6
    more["coordinators"]["group"]["replicas"] = 4

    assert _revisions(more) == _revisions(LARGE)


def test_a_quorum_that_has_formed_restarts_nobody() -> None:
    assert _revisions(LARGE, quorum_formed=True) == _revisions(LARGE)


def test_a_static_property_restarts_all_and_a_template_only_its_pool() -> None:
    changed = copy.deepcopy(LARGE)
    changed["brokers"][0]["template"] = {"annotations": {"a": "b"}}
    static = {"num.network.threads": "4"}

    assert _revisions(changed)["main"] != _revisions(LARGE)["main"]
    assert _revisions(changed)["controllers"] == _revisions(LARGE)["controllers"]
    changed_all = _revisions(LARGE, static_config=static)
    assert all(changed_all[pool] != old for pool, old in _revisions(LARGE).items())


def test_pods_wait_rather_than_upset_racks_and_prefer_other_hosts() -> None:
    def spread(spec: dict[str, Any]) -> list[tuple[str, str]]:
        constraints = _pod(blueprint_of(spec), "main")["topologySpreadConstraints"]
        return [(one["topologyKey"], one["whenUnsatisfiable"]) for one in constraints]

    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    assert spread(SMALL) == [(zone, "ScheduleAnyway"), (host, "ScheduleAnyway")]
    assert spread(SMALL | ZONES) == [(zone, "DoNotSchedule"), (host, "ScheduleAnyway")]


def test_a_pool_with_a_rack_runs_only_there() -> None:
    pinned = copy.deepcopy(LARGE)
    pinned["brokers"][0] |= {"rack": "a", "template": {"nodeSelector": {"disk": "fast"}}}

    pod = _pod(blueprint_of(pinned), "main")

    assert pod["nodeSelector"] == {"disk": "fast", "topology.kubernetes.io/zone": "a"}
    assert [one["topologyKey"] for one in pod["topologySpreadConstraints"]] == [
        "kubernetes.io/hostname"
    ]


def test_users_labels_never_replace_those_that_select_pods() -> None:
    changed = copy.deepcopy(SMALL)
    changed["brokers"][0]["template"] = {"labels": {"barnabas.dev/pool": "x", "team": "a"}}

    labels = _sets(blueprint_of(changed))["main"]["spec"]["template"]["metadata"]["labels"]

    assert (labels["barnabas.dev/pool"], labels["team"]) == ("main", "a")


def test_a_role_runs_alone_where_it_can_and_several_in_one_process_where_they_must() -> None:
    def command(spec: dict[str, Any], pool: str) -> list[str]:
        main: list[str] = _pod(blueprint_of(spec), pool)["containers"][0]["command"]
        return main

    without_coordinators = {key: one for key, one in LARGE.items() if key != "coordinators"}
    assert command(LARGE, "main")[:3] == ["python3", "-m", "barnabas_broker"]
    assert command(LARGE, "controllers")[:3] == ["python3", "-m", "barnabas_controller"]
    assert command(LARGE, "group")[2:5] == ["barnabas_coordinator", "--role", "group"]
    assert command(without_coordinators, "main")[:2] == ["barnabas", "serve"]
    assert command(SMALL, "main")[:2] == ["barnabas", "serve"]


def test_images_are_those_of_the_version_unless_a_pool_has_its_own() -> None:
    changed = copy.deepcopy(LARGE) | {"version": "1.2"}
    changed["brokers"][0]["image"] = "elsewhere/broker:fixed"
    images = Images(prefix="registry.example/team/", tag="9.9")

    def used(spec: dict[str, Any]) -> dict[str, set[str]]:
        return {
            pool: {
                one["image"]
                for member in ("initContainers", "containers")
                for one in found["spec"]["template"]["spec"][member]
            }
            for pool, found in _sets(blueprint_of(spec, images=images)).items()
        }

    assert used(changed) == {
        "controllers": {"registry.example/team/controller:1.2"},
        "group": {"registry.example/team/group-coordinator:1.2"},
        "main": {"elsewhere/broker:fixed"},
    }
    assert used(LARGE)["main"] == {"registry.example/team/broker:9.9"}
