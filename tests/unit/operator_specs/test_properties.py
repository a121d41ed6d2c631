"""The nodes' files: our processes load them, and what is the operator's stays the operator's."""

from typing import Any

import pytest

from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.server_properties import load_server_properties
from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.node_facts import needed_facts
from barnabas_operator.specs.properties import server_properties
from tests.support.blueprints import LARGE, SMALL, blueprint_of, sample_blueprint


def _file(blueprint: Blueprint, pool: str) -> str:
    (node_set,) = [one for one in blueprint.node_sets if one.pool == pool]
    text = server_properties(node_set)
    facts = dict.fromkeys(needed_facts(node_set), "a.example:30000") | {"RACK": "zone-a"}
    facts |= {"NODE_ID": str(node_set.first_node_id), "POD_NAME": f"demo-{pool}-0"}
    for name, fact in facts.items():
        text = text.replace(f"@{name}@", fact)
    assert "@" not in text
    return text


def _node(blueprint: Blueprint, pool: str) -> NodeProperties:
    text = _file(blueprint, pool)
    return load_server_properties("server.properties", {}, lambda _: text.encode())


@pytest.mark.parametrize("name", ["smallest", "development", "production"])
def test_every_file_of_the_samples_is_taken_by_our_own_reader(name: str) -> None:
    blueprint = sample_blueprint(name)

    for node_set in blueprint.node_sets:
        node = _node(blueprint, node_set.pool)
        assert node.node_id == node_set.first_node_id
        assert node.is_controller == node_set.is_controller
        assert node.warnings == ()


def test_controllers_serve_links_where_others_look_for_them_by_default() -> None:
    blueprint = blueprint_of(LARGE)

    controller = _node(blueprint, "controllers")
    broker = _node(blueprint, "main")

    assert not controller.has_internal_listener
    assert controller.internal_listener.port == 10093
    assert broker.internal_listener.port == 10093
    assert broker.bootstrap_servers == (("demo-controllers.kafka.svc", 9093),)


def test_a_pod_is_advertised_by_a_name_of_its_own() -> None:
    broker = _node(blueprint_of(LARGE), "main")
    controller = _node(blueprint_of(LARGE), "controllers")

    assert [(one.name, one.host, one.port) for one in broker.advertised_listeners] == [
        ("PLAIN", "demo-main-0.demo-main.kafka.svc", 9092)
    ]
    assert [(one.host, one.port) for one in controller.advertised_controller_listeners] == [
        ("demo-controllers-0.demo-controllers.kafka.svc", 9093)
    ]


def test_brokers_have_coordinators_of_their_own_unless_there_are_others() -> None:
    assert _node(blueprint_of(LARGE), "main").text("coordinator.mode") == "remote"
    assert _node(blueprint_of(SMALL), "main").text("coordinator.mode") == "local"


def test_with_racks_followers_serve_reads_unless_the_user_says_otherwise() -> None:
    racks = LARGE | {"rack": {"topologyKey": "zone"}}
    name = "replica.selector.class"
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

    assert _node(blueprint_of(racks), "main").text(name) == selector
    assert _node(blueprint_of(racks), "main").text("broker.rack") == "zone-a"
    assert name not in _node(blueprint_of(LARGE), "main").raw
    own = "org.apache.kafka.common.replica.LeaderSelector"
    changed = blueprint_of(racks | {"config": {name: own}})
    assert _node(changed, "main").text(name) == own


@pytest.mark.parametrize(("brokers", "replicas"), [(0, 1), (1, 1), (2, 2), (3, None), (9, None)])
def test_a_small_cluster_keeps_offsets_on_as_many_brokers_as_it_has(
    brokers: int, replicas: int | None
) -> None:
    name = "offsets.topic.replication.factor"
    spec = LARGE | {"brokers": [LARGE["brokers"][0] | {"replicas": brokers}]}

    raw = _node(blueprint_of(spec), "main").raw

    assert raw.get(name) == (None if replicas is None else str(replicas))
    own = blueprint_of(spec, static_config={name: "5"})
    assert _node(own, "main").raw[name] == "5"


def test_coordinators_know_their_rack_and_keep_nothing_on_disk() -> None:
    coordinator = _node(blueprint_of(LARGE | {"rack": {"topologyKey": "zone"}}), "group")

    assert coordinator.text("broker.rack") == "zone-a"
    assert "log.dirs" not in coordinator.raw


def test_the_rack_of_a_pool_needs_no_node_to_be_asked() -> None:
    pinned: dict[str, Any] = LARGE | {"brokers": [LARGE["brokers"][0] | {"rack": "a"}]}
    (pool,) = [one for one in blueprint_of(pinned).node_sets if one.is_broker]

    assert needed_facts(pool) == ()
    assert "broker.rack=a\n" in server_properties(pool)


def test_logs_are_in_folders_of_the_disks() -> None:
    disks = [{"name": "one", "size": "1Gi"}, {"name": "two", "size": "1Gi"}]
    pool = LARGE["brokers"][0] | {"storage": disks}

    node = _node(blueprint_of(LARGE | {"brokers": [pool]}), "main")

    assert node.log_dirs == ("/var/lib/barnabas/one/log", "/var/lib/barnabas/two/log")


def test_a_value_with_a_backslash_is_read_back_as_it_was() -> None:
    name, odd = "sasl.kerberos.principal.to.local.rules", " RULE:[1:$1](\\d+)s/\\.//"

    node = _node(blueprint_of(SMALL, static_config={name: odd}), "main")

    assert node.raw[name] == odd


def test_what_users_set_never_replaces_what_is_the_operators() -> None:
    stolen = {"node.id": "5", "listeners": "A://:1", "process.roles": "broker"}

    node = _node(blueprint_of(SMALL, static_config=stolen), "main")

    assert node.node_id == 0
    assert node.process_roles == ("broker", "controller")
    assert [one.name for one in node.listeners] == ["PLAIN", "CONTROLLER"]
