"""A node's configuration from file, environment and providers; what Kafka refuses is refused."""

from pathlib import Path

import pytest

from barnabas_core.config.error import ConfigError, MalformedProperties
from barnabas_core.config.listener import WILDCARD, Listener
from barnabas_core.config.node_rule import check_internal_links
from barnabas_core.config.server_properties import (
    InvalidServerProperties,
    NodeProperties,
    check_properties,
    load_server_properties,
    node_properties,
)

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data/a,/data/b",
}
CONTROLLER = {
    "process.roles": "controller",
    "node.id": "3",
    "controller.quorum.voters": "3@c3:9093,4@c4:9093",
    "listeners": "CONTROLLER://c3:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}
BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.voters": "3@c3:9093",
    "listeners": "PLAINTEXT://b1:9092",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}


def load(
    properties: dict[str, str], *changes: dict[str, str | None], env: dict[str, str] | None = None
) -> NodeProperties:
    """The node of these properties with a few changed, or removed (None)."""
    together: dict[str, str | None] = {**properties}
    for change in changes:
        together |= change
    given = {name: text for name, text in together.items() if text is not None}
    return node_properties(given, env or {}, lambda _: None)


def test_a_combined_node() -> None:
    node = load(COMBINED)

    assert node.process_roles == ("broker", "controller")
    assert (node.node_id, node.values["broker.id"]) == (1, 1)
    assert [str(one) for one in node.listeners] == ["PLAINTEXT://:9092", "CONTROLLER://:9093"]
    assert [str(one) for one in node.broker_listeners] == ["PLAINTEXT://:9092"]
    assert node.advertised_broker_listeners[0].host == "localhost"
    assert node.advertised_controller_listeners[0].host == "localhost"
    assert node.controller_listener_names == ("CONTROLLER",)
    assert node.bootstrap_servers == (("localhost", 9093),)
    assert node.quorum_voters == ()
    assert node.log_dirs == ("/data/a", "/data/b")
    assert node.metadata_log_dir == "/data/a"
    assert node.inter_broker_listener_name == "PLAINTEXT"
    assert node.values["num.partitions"] == 1
    assert node.values["coordinator.mode"] == "local"
    assert node.warnings == ()


def test_a_controller_and_a_broker() -> None:
    controller, broker = load(CONTROLLER), load(BROKER)

    assert controller.quorum_voters == ((3, "c3", 9093), (4, "c4", 9093))
    assert controller.is_controller
    assert not controller.is_broker
    assert broker.controller_listeners == ()
    assert broker.security_protocols["CONTROLLER"] == "PLAINTEXT"


def test_a_controller_may_listen_on_every_address() -> None:
    """And then nothing says how it can be reached."""
    node = load(CONTROLLER, {"listeners": "CONTROLLER://0.0.0.0:9093"})

    assert node.listeners[0].host == WILDCARD
    assert node.advertised_controller_listeners == (Listener("CONTROLLER", "", 9093, "PLAINTEXT"),)


def test_directories_have_their_defaults() -> None:
    assert load(COMBINED, {"log.dirs": None}).log_dirs == ("/tmp/kafka-logs",)
    assert load(COMBINED, {"log.dirs": None, "log.dir": "/one"}).log_dirs == ("/one",)
    assert load(COMBINED, {"metadata.log.dir": "/m"}).metadata_log_dir == "/m"
    assert load(COMBINED, {"log.dirs": "/b,/a,/b"}).log_dirs == ("/b", "/a")


def test_the_environment_wins_over_the_file() -> None:
    node = load(COMBINED, env={"KAFKA_NODE_ID": "7", "KAFKA_LOG_DIRS": "/other", "HOME": "/"})

    assert node.node_id == 7
    assert node.log_dirs == ("/other",)
    assert node.raw["node.id"] == "7"


def test_a_variable_that_names_no_property_is_reported_and_sets_nothing() -> None:
    node = load(COMBINED, env={"KAFKA_SERVICE_HOST": "10.0.0.1"})

    assert node.warnings == ("the environment sets service.host, which is no property",)
    assert "service.host" not in node.raw


def test_a_broker_of_the_environment_listens_on_what_it_advertises() -> None:
    env = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://b1:9092"}

    assert load(BROKER, {"listeners": None}, env=env).listeners[0].host == WILDCARD
    # What the file says to listen on is never lost.
    assert load(BROKER, env=env).listeners[0].host == "b1"


def test_a_file_is_read_with_its_providers(tmp_path: Path) -> None:
    secrets = {"/s": b"password = x"}
    path = tmp_path / "server.properties"
    lines = [f"{name}={text}" for name, text in CONTROLLER.items()]
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    lines += ["config.providers=f", f"config.providers.f.class={provider}"]
    path.write_text("\n".join([*lines, "ssl.key.password=${f:/s:password}"]))

    node = load_server_properties(
        str(path), {}, lambda name: secrets.get(name) or Path(name).read_bytes()
    )

    assert node.raw["ssl.key.password"] == "x"
    assert str(node.values["ssl.key.password"]) == "[hidden]"
    assert "x" not in repr(node).replace("NodeProperties", "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no such file"),
        (b"a=\\u12", "line 1"),
        (b"node.id=1", 'Missing required configuration "process.roles"'),
        (b"process.roles=broker\nnode.id=x\ncontroller.listener.names=C",
         "Invalid value x for configuration node.id: Not a number of type INT"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_that_names_the_file(text: bytes | None, reason: str) -> None:
    with pytest.raises(InvalidServerProperties) as raised:
        load_server_properties("/etc/server.properties", {}, lambda _: text)

    assert str(raised.value).startswith("/etc/server.properties: ")
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


GOOD_LINES = b"process.roles=broker\nnode.id=1\ncontroller.listener.names=C\n"


@pytest.mark.parametrize(
    ("text", "environment", "reason"),
    [
        (b"num.partitons=3", {}, "line 4: unknown property num.partitons; did you mean num.part"),
        (b"# why\n\nnum.partitions=\\\n  x", {}, "line 6: Invalid value x for configuration num"),
        (b"num.partitions=1\nnum.partitions=0", {}, "line 5: Invalid value 0 for configuration"),
        (b"listener.name.a.max.connections=x", {}, "line 4: listener.name.a.max.connections: Inv"),
        (b"num.partitions=1", {"KAFKA_NUM_PARTITIONS": "x"},
         "environment variable KAFKA_NUM_PARTITIONS: Invalid value x for configuration"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    text: bytes, environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(InvalidServerProperties) as raised:
        load_server_properties("/etc/s.properties", environment, lambda _: GOOD_LINES + text)

    assert str(raised.value).startswith(f"/etc/s.properties: {reason}")


def test_what_would_be_ignored_at_somebodys_peril_is_refused_with_its_line() -> None:
    lines = [f"{name}={text}" for name, text in BROKER.items()]
    lines += ["authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"]
    data = "\n".join(lines).encode()

    load_server_properties("s", {}, lambda _: data)  # to format a directory, it will do
    with pytest.raises(InvalidServerProperties) as raised:
        load_server_properties("s", {}, lambda _: data, to_serve=True)

    assert str(raised.value).startswith("s: line 7: authorizer.class.name must not be set: ")


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"num.partitons": "1"}, "unknown property num.partitons; did you mean num.partitions?"),
        ({"num.partitions": "0"}, "Value must be at least 1"),
        ({"listener.name.a.max.connections": "-1"}, "listener.name.a.max.connections"),
    ],
)
def test_properties_without_a_file_are_checked_too(properties: dict[str, str], reason: str) -> None:
    check_properties({"num.partitions": "3", "internal.listener": ":5"})
    with pytest.raises(ConfigError) as raised:
        check_properties(properties)

    assert reason in str(raised.value)


def test_the_reason_is_kept_for_who_wants_it() -> None:
    with pytest.raises(InvalidServerProperties) as raised:
        load_server_properties("p", {}, lambda _: b"\n\na=\\u1")

    assert isinstance(raised.value.__cause__, MalformedProperties)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("log.dir.s", "unknown property log.dir.s; did you mean log.dirs?"),
        ("internal.listner", "did you mean internal.listener?"),
        ("colour", "unknown property colour"),
    ],
)
def test_an_unknown_property_is_refused_with_the_nearest_name(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(COMBINED, {name: "x"})

    assert str(raised.value).endswith(reason)


@pytest.mark.parametrize(
    "name",
    ["listener.name.plaintext.ssl.keystore.location", "metric.reporters", "super.users",
     "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", "rsm.config.bucket",
     "rlmm.config.x", "authorizer.anything", "metrics.num.samples.of.mine"],
)  # fmt: skip
def test_names_of_plug_ins_are_let_through(name: str) -> None:
    assert load(COMBINED, {name: "x"}).raw[name] == "x"


def test_plug_ins_of_tiered_storage_choose_their_prefix() -> None:
    prefix: dict[str, str | None] = {"remote.log.storage.manager.impl.prefix": "mine."}

    assert load(COMBINED, prefix, {"mine.x": "1"}).raw["mine.x"] == "1"
    with pytest.raises(ConfigError, match=r"unknown property rsm\.config\.x"):
        load(COMBINED, prefix, {"rsm.config.x": "1"})


def test_a_property_of_a_listener_has_the_type_of_the_property() -> None:
    with pytest.raises(ConfigError, match=r"listener\.name\.plaintext\.max\.connections: "):
        load(COMBINED, {"listener.name.plaintext.max.connections": "many"})


def test_properties_that_kafka_gave_up_have_no_effect() -> None:
    node = load(COMBINED, {"zookeeper.connect": "z:2181", "inter.broker.protocol.version": "3.9"})

    assert len(node.warnings) == 2
    assert "zookeeper.connect is no longer a property" in node.warnings[0]


def test_broker_id_stands_for_node_id() -> None:
    assert load(COMBINED, {"node.id": None, "broker.id": "4"}).node_id == 4
    with pytest.raises(ConfigError, match=r"`node\.id` to the same value as `broker\.id`"):
        load(COMBINED, {"broker.id": "4"})


@pytest.mark.parametrize(
    ("base", "change", "reason"),
    [
        (COMBINED, {"node.id": "-1"}, "Value must be at least 0"),
        (COMBINED, {"process.roles": "zookeeper"}, "process.roles"),
        (COMBINED, {"process.roles": ""}, "process.roles"),
        (COMBINED, {"controller.quorum.bootstrap.servers": None}, "either controller.quorum"),
        (COMBINED, {"log.dirs": ""}, "At least one log directory"),
        (COMBINED, {"log.dirs": "/a,"}, "Configuration 'log.dirs' values must not be empty"),
        (COMBINED, {"listeners": "PLAINTEXT://:1,,CONTROLLER://:2"}, "must not be empty"),
        (COMBINED, {"cordoned.log.dirs": "/data/c"}, "Missing entries : /data/c"),
        (COMBINED, {"log.roll.ms": "0"}, "log.roll.ms must be"),
        (COMBINED, {"log.retention.ms": "0"}, "log.retention.ms must be"),
        (COMBINED, {"connection.failed.authentication.delay.ms": "600000"}, "always be less than"),
        (COMBINED, {"max.connections.per.ip": "0"}, "can be set to zero only if"),
        (COMBINED, {"group.coordinator.rebalance.protocols": "consumer"}, "Disabling the"),
        (COMBINED, {"advertised.listeners": None,
                    "listeners": "PLAINTEXT://0.0.0.0:1,CONTROLLER://:2"}, "nonroutable"),
        (CONTROLLER, {"advertised.listeners": "CONTROLLER://0.0.0.0:1"}, "nonroutable"),
        (COMBINED, {"controller.listener.names": "ADMIN"}, "No security protocol defined"),
        (COMBINED, {"controller.listener.names": "", "listeners": "PLAINTEXT://:1",
                    "advertised.listeners": None}, "at least one value appearing in the"),
        (COMBINED, {"controller.listener.names": "CONTROLLER,SECOND"}, "must only contain values"),
        (COMBINED, {"controller.quorum.voters": "2@x:1"}, "the node id 1 must be included"),
        (COMBINED, {"controller.quorum.voters": "1@x:1,1@y:1"}, "names a node id twice"),
        (COMBINED, {"controller.quorum.voters": "x:1"}, "expected id@host:port"),
        (COMBINED, {"listeners": "PLAINTEXT://:9092"}, "must only contain values"),
        (COMBINED, {"listeners": "PLAINTEXT://:1,CONTROLLER://:1"}, "different port"),
        (COMBINED, {"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "nonroutable"),
        (COMBINED, {"advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://0.0.0.0:1"},
         "nonroutable"),
        (COMBINED, {"advertised.listeners": "PLAINTEXT://a:1,SSL://a:2"}, "or a subset of"),
        (COMBINED, {"advertised.listeners": "CONTROLLER://a:2"}, "at least one broker advertised"),
        (COMBINED, {"inter.broker.listener.name": "SSL"}, "inter.broker.listener.name must be"),
        (COMBINED, {"inter.broker.listener.name": "INSIDE"}, "not found in listener.security"),
        (COMBINED, {"inter.broker.listener.name": "PLAINTEXT",
                    "security.inter.broker.protocol": "PLAINTEXT"}, "Only one of"),
        (COMBINED, {"early.start.listeners": "ADMIN"}, "early.start.listeners contains"),
        (COMBINED, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
         "No security protocol defined for listener CONTROLLER"),
        (COMBINED, {"log.cleaner.dedupe.buffer.size": "1048576"}, "1MB per cleaner thread"),
        (COMBINED, {"replica.fetch.wait.max.ms": "30001"}, "replica.socket.timeout.ms should"),
        (COMBINED, {"replica.lag.time.max.ms": "499"}, "frequent changes in ISR"),
        (COMBINED, {"queued.max.request.bytes": "1"}, "must be larger or equal to"),
        (COMBINED, {"internal.listener": "host:9093"}, "a port that no listener has"),
        (COMBINED, {"internal.listener": "nowhere"}, "expected host:port"),
        (COMBINED, {"internal.tls.key": "k"}, "expected all of internal.tls.certificate"),
        (COMBINED, {"coordinator.mode": "far"}, "String must be one of: local, remote"),
        (CONTROLLER, {"listeners": "CONTROLLER://:1,PLAINTEXT://:2"}, "must only contain KRaft"),
        (BROKER, {"controller.listener.names": "PLAINTEXT"}, "must not contain a value"),
        (BROKER, {"controller.listener.names": ""}, "at least one value when running"),
        (BROKER, {"controller.listener.names": None}, 'configuration "controller.listener.names"'),
        (BROKER, {"controller.quorum.voters": "1@x:1"}, "must not be included"),
        (BROKER, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "with name CONTROLLER"),
    ],
)  # fmt: skip
def test_properties_that_do_not_go_together_are_refused(
    base: dict[str, str], change: dict[str, str | None], reason: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(base, change)

    assert reason in str(raised.value)


def test_with_a_secured_listener_no_controller_is_plain_by_default() -> None:
    with pytest.raises(ConfigError, match="No security protocol defined for listener CONTROLLER"):
        load(COMBINED, {"listeners": "SSL://:9092,CONTROLLER://:9093"})


@pytest.mark.parametrize(
    ("base", "change", "internal"),
    [
        (COMBINED, {}, Listener("INTERNAL", "", 10093, "PLAINTEXT")),
        (CONTROLLER, {}, Listener("INTERNAL", "c3", 10093, "PLAINTEXT")),
        (BROKER, {}, Listener("INTERNAL", "b1", 10092, "PLAINTEXT")),
        (BROKER, {"listeners": "PLAINTEXT://b1:65000"},
         Listener("INTERNAL", "b1", 64000, "PLAINTEXT")),
        (BROKER, {"listeners": "PLAINTEXT://:0"}, Listener("INTERNAL", "", 0, "PLAINTEXT")),
        (BROKER, {"internal.listener": "[::1]:5"}, Listener("INTERNAL", "::1", 5, "PLAINTEXT")),
        (BROKER, {"internal.listener": ":5", "internal.tls.key": "k", "internal.tls.ca": "a",
                  "internal.tls.certificate": "c"}, Listener("INTERNAL", "", 5, "SSL")),
    ],
)  # fmt: skip
def test_the_internal_listener_is_beside_what_others_know_of_the_node(
    base: dict[str, str], change: dict[str, str | None], internal: Listener
) -> None:
    node = load(base, change)

    assert node.internal_listener == internal
    assert node.has_internal_listener == ("internal.listener" in change)


def test_secured_clients_mean_secured_links() -> None:
    secured: dict[str, str | None] = {
        "listeners": "SSL://:9092",
        "inter.broker.listener.name": "SSL",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
    }
    tls = {"internal.tls.key": "k", "internal.tls.ca": "a", "internal.tls.certificate": "c"}

    check_internal_links(load(BROKER))
    check_internal_links(load(BROKER, secured, dict(tls)))
    with pytest.raises(ConfigError, match=r"listener SSL://:9092 is SSL"):
        check_internal_links(load(BROKER, secured))
