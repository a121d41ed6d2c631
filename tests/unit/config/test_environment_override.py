"""Environment variables that set properties, as in Kafka's image."""

import pytest

from barnabas_core.config.environment_override import (
    default_listeners,
    environment_properties,
    property_name,
)
from barnabas_core.config.error import ConfigError


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_NODE_ID", "node.id"),
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B", "a-b"),
        ("KAFKA_LISTENER_NAME_SASL__SSL_SCRAM___SHA___256_SASL_JAAS_CONFIG",
         "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config"),
    ],
)  # fmt: skip
def test_underscores_stand_for_dots_underscores_and_dashes(variable: str, name: str) -> None:
    assert property_name(variable) == name
    assert environment_properties({variable: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "variable",
    ["KAFKA_OPTS", "KAFKA_HEAP_OPTS", "KAFKA_JMX_PORT", "KAFKA_VERSION", "KAFKA_LOG4J_LOGGERS",
     "KAFKA_GC_LOG_OPTS", "CLUSTER_ID", "PATH", "kafka_node_id", "KAFKA_"],
)  # fmt: skip
def test_variables_of_the_image_and_of_others_set_nothing(variable: str) -> None:
    assert environment_properties({variable: "x"}) == {}


def test_a_value_is_read_as_in_the_file() -> None:
    assert environment_properties({"KAFKA_A": " a\\tb\\\n  c "}) == {"a": "a\tbc "}


def test_a_value_of_several_lines_is_refused() -> None:
    with pytest.raises(ConfigError, match="KAFKA_A: expected one line"):
        environment_properties({"KAFKA_A": "1\nnode.id=2"})


def test_a_controller_has_no_empty_advertised_listeners() -> None:
    empty = {"KAFKA_PROCESS_ROLES": "controller", "KAFKA_ADVERTISED_LISTENERS": ""}

    assert environment_properties(empty) == {"process.roles": "controller"}
    empty["KAFKA_PROCESS_ROLES"] = "broker"
    assert environment_properties(empty)["advertised.listeners"] == ""


def test_listeners_follow_the_advertised_ones() -> None:
    advertised = "PLAINTEXT://a.example.com:9092,SSL://b:9093"

    assert default_listeners(advertised) == "PLAINTEXT://0.0.0.0:9092,SSL://0.0.0.0:9093"
