"""A broker's settings from the properties of its node: where it is, and whom it asks."""

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.node_config import broker_config
from barnabas_core.config.listener import Listener
from barnabas_core.config.server_properties import node_properties
from barnabas_core.ports.link import Address

BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "c3:9093,c4:9093",
    "listeners": "PLAINTEXT://b1:9092",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data/a,/data/b",
}
TWO_LISTENERS = {
    "listeners": "INSIDE://:9092,OUTSIDE://:9095",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


def config_of(**changes: str) -> BrokerConfig:
    changed = {name.replace("_", "."): text for name, text in changes.items()}
    return made_of(BROKER | changed)


def made_of(properties: dict[str, str]) -> BrokerConfig:
    return broker_config(node_properties(properties, {}, lambda _: None), "cluster", "this.machine")


def test_who_it_is_and_where_its_logs_are() -> None:
    config = config_of(broker_rack="r1", num_partitions="7")

    assert (config.node_id, config.cluster_id, config.rack) == (1, "cluster", "r1")
    assert config.log_dirs == ("/data/a", "/data/b")
    assert config.static_configs["num.partitions"] == "7"


def test_links_are_a_thousand_above_the_first_listener() -> None:
    config = config_of()

    assert config.internal == Address("b1", 10092)
    assert config.internal_host == "b1"


def test_controllers_are_a_thousand_above_what_kafkas_properties_say() -> None:
    static = BROKER | {"controller.quorum.voters": "3@c3:9093,4@c4:65000"}
    del static["controller.quorum.bootstrap.servers"]

    assert config_of().controllers == (Address("c3", 10093), Address("c4", 10093))
    assert made_of(static).controllers == (Address("c3", 10093), Address("c4", 64000))


def test_a_controller_that_is_named_twice_is_asked_once() -> None:
    config = config_of(controller_quorum_voters="3@c3:9093")

    assert config.controllers == (Address("c3", 10093), Address("c4", 10093))


def test_where_it_listens_on_every_address_it_is_known_by_the_machine() -> None:
    config = config_of(listeners="PLAINTEXT://:9092")

    assert config.listeners == (Listener("PLAINTEXT", "", 9092, "PLAINTEXT"),)
    assert config.advertised == (Listener("PLAINTEXT", "this.machine", 9092, "PLAINTEXT"),)
    assert (config.internal, config.internal_host) == (Address("", 10092), "this.machine")


def test_what_is_registered_for_links_is_reachable() -> None:
    advertised = {"advertised.listeners": "INSIDE://inside:1,OUTSIDE://outside:2"}

    everywhere = made_of(BROKER | TWO_LISTENERS | advertised)
    named = made_of(BROKER | TWO_LISTENERS | advertised | {"internal.listener": "links:7000"})
    wild = made_of(BROKER | TWO_LISTENERS | advertised | {"internal.listener": "0.0.0.0:7000"})

    assert everywhere.internal_host == "inside"
    assert (named.internal, named.internal_host) == (Address("links", 7000), "links")
    assert (wild.internal, wild.internal_host) == (Address("0.0.0.0", 7000), "inside")  # noqa: S104


def test_only_what_is_advertised_is_told() -> None:
    config = made_of(BROKER | TWO_LISTENERS | {"advertised.listeners": "INSIDE://inside:1"})

    assert [one.name for one in config.listeners] == ["INSIDE", "OUTSIDE"]
    assert [one.name for one in config.advertised] == ["INSIDE"]
