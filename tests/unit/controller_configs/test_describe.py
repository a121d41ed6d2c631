"""DescribeConfigs and ListConfigResources, held against what Kafka 4.3.1 answered."""

from dataclasses import replace

import pytest

from barnabas_controller.managers.configs.describe_configs import decide_describe_configs
from barnabas_controller.managers.configs.list_config_resources import (
    decide_list_config_resources,
)
from barnabas_core.config.source import ConfigSource
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas_core.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from barnabas_core.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from tests.support.controller_lab import SETTINGS, ControllerLab

STATIC = {
    "node.id": "3000",
    "log.retention.hours": "5",
    "log.cleaner.delete.retention.ms": "7000",
    "super.users": "User:admin",
    "ssl.keystore.password": "secret",
}
NODE = "3000"
DYNAMIC, CLUSTER, FILE, DEFAULT = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
    ConfigSource.DEFAULT_CONFIG,
)


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab(replace(SETTINGS, static_configs=STATIC))
    lab.register_broker(1)
    lab.create_topic("t", {0: [1]})
    return lab


def ask(
    lab: ControllerLab,
    resource_type: int,
    name: str,
    *keys: str,
    synonyms: bool = True,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms)
    (result,) = lab.decide(decide_describe_configs, request).results
    assert (result.resource_type, result.resource_name) == (resource_type, name)
    return result


def one(
    lab: ControllerLab, resource_type: int, name: str, key: str
) -> DescribeConfigsResourceResult:
    (config,) = ask(lab, resource_type, name, key).configs
    assert config.name == key
    return config


def told(config: DescribeConfigsResourceResult) -> tuple[str | None, int]:
    return (config.value, config.config_source)


def synonyms(config: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in config.synonyms]


# --- topics


def test_a_topic_tells_all_its_configs(lab: ControllerLab) -> None:
    result = ask(lab, TOPIC_RESOURCE, "t")

    assert (result.error_code, len(result.configs)) == (0, 33)
    assert not any(config.read_only or config.is_sensitive for config in result.configs)


def test_a_topics_own_value_comes_before_what_is_behind_it(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "cleanup.policy", "compact")
    lab.set_config(BROKER_RESOURCE, "", "log.cleanup.policy", "delete,compact")

    config = one(lab, TOPIC_RESOURCE, "t", "cleanup.policy")

    assert told(config) == ("compact", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert synonyms(config) == [
        ("cleanup.policy", "compact", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.cleanup.policy", "delete,compact", CLUSTER),
        ("log.cleanup.policy", "delete", DEFAULT),
    ]


def test_a_value_for_one_node_beats_those_for_all_and_the_file(lab: ControllerLab) -> None:
    lab.set_config(BROKER_RESOURCE, NODE, "log.cleaner.delete.retention.ms", "8000")

    config = one(lab, TOPIC_RESOURCE, "t", "delete.retention.ms")

    assert told(config) == ("8000", DYNAMIC)
    assert synonyms(config) == [
        ("log.cleaner.delete.retention.ms", "8000", DYNAMIC),
        ("log.cleaner.delete.retention.ms", "7000", FILE),
        ("log.cleaner.delete.retention.ms", "86400000", DEFAULT),
    ]


def test_a_retention_in_hours_counts_but_is_not_told_of(lab: ControllerLab) -> None:
    config = one(lab, TOPIC_RESOURCE, "t", "retention.ms")

    assert told(config) == ("18000000", DEFAULT)
    assert synonyms(config) == []


def test_with_one_in_milliseconds_the_hours_are_told_too(lab: ControllerLab) -> None:
    lab.set_config(BROKER_RESOURCE, "", "log.retention.ms", "77000")

    config = one(lab, TOPIC_RESOURCE, "t", "retention.ms")

    assert told(config) == ("77000", CLUSTER)
    assert synonyms(config) == [
        ("log.retention.ms", "77000", CLUSTER),
        ("log.retention.hours", "5", FILE),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_a_config_without_a_broker_property_behind_it_has_no_synonyms(lab: ControllerLab) -> None:
    config = one(lab, TOPIC_RESOURCE, "t", "remote.storage.enable")

    assert told(config) == ("false", DEFAULT)
    assert synonyms(config) == []


def test_synonyms_only_if_asked_for_and_unknown_keys_are_left_out(lab: ControllerLab) -> None:
    result = ask(lab, TOPIC_RESOURCE, "t", "retention.ms", "flush.messages", "nope", synonyms=False)

    assert [config.name for config in result.configs] == ["flush.messages", "retention.ms"]
    assert all(config.synonyms == [] for config in result.configs)


@pytest.mark.parametrize(
    ("resource_type", "name", "error", "message"),
    [
        (TOPIC_RESOURCE, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (
            TOPIC_RESOURCE,
            "",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            BROKER_RESOURCE,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 3000 or empty string, but received 2",
        ),
        (
            BROKER_RESOURCE,
            "x",
            ErrorCode.INVALID_REQUEST,
            "Broker id must be an integer, but it is: x",
        ),
        (GROUP_RESOURCE, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (
            CLIENT_METRICS_RESOURCE,
            "",
            ErrorCode.INVALID_REQUEST,
            "Client metrics subscription name must not be empty",
        ),
        (
            BROKER_LOGGER_RESOURCE,
            NODE,
            ErrorCode.INVALID_REQUEST,
            "Unsupported resource type: 8",
        ),
    ],
)
def test_what_cannot_be_described(
    lab: ControllerLab, resource_type: int, name: str, error: ErrorCode, message: str
) -> None:
    result = ask(lab, resource_type, name)

    assert (result.error_code, result.error_message, result.configs) == (error, message, [])


# --- nodes


def test_a_node_tells_its_file_and_every_default(lab: ControllerLab) -> None:
    configs = {config.name: config for config in ask(lab, BROKER_RESOURCE, NODE).configs}

    assert told(configs["log.retention.hours"]) == ("5", FILE)
    assert told(configs["log.roll.hours"]) == ("168", DEFAULT)
    assert configs["log.roll.hours"].read_only
    assert told(configs["log.cleaner.threads"]) == ("1", DEFAULT)
    assert not configs["log.cleaner.threads"].read_only
    assert told(configs["log.roll.ms"]) == (None, DEFAULT)


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_a_nodes_id_is_told_under_both_of_its_names(lab: ControllerLab, name: str) -> None:
    config = one(lab, BROKER_RESOURCE, NODE, name)

    assert told(config) == (NODE, FILE)
    assert synonyms(config)[0] == (name, NODE, FILE)


def test_what_must_be_in_the_file_has_no_default(lab: ControllerLab) -> None:
    assert synonyms(one(lab, BROKER_RESOURCE, NODE, "node.id")) == [("node.id", NODE, FILE)]


def test_a_file_is_shadowed_by_a_dynamic_value_in_another_unit(lab: ControllerLab) -> None:
    lab.set_config(BROKER_RESOURCE, "", "log.retention.ms", "77000")

    config = one(lab, BROKER_RESOURCE, NODE, "log.retention.hours")

    # Kafka shows the value that is left, and where it would have come from.
    assert told(config) == ("168", FILE)
    assert synonyms(config) == [
        ("log.retention.hours", "5", FILE),
        ("log.retention.hours", "168", DEFAULT),
    ]


@pytest.mark.parametrize("name", ["ssl.keystore.password", "super.users"])
def test_secrets_and_unknown_properties_are_not_told(lab: ControllerLab, name: str) -> None:
    config = one(lab, BROKER_RESOURCE, NODE, name)

    assert config.is_sensitive
    assert told(config) == (None, FILE)
    assert synonyms(config) == [(name, None, FILE)]


def test_a_listeners_own_secret_is_not_told_either(lab: ControllerLab) -> None:
    name = "listener.name.plaintext.ssl.keystore.password"
    lab.set_config(BROKER_RESOURCE, NODE, name, "secret")

    config = one(lab, BROKER_RESOURCE, NODE, name)

    assert (config.is_sensitive, config.read_only) == (True, True)
    assert synonyms(config) == [(name, None, DYNAMIC), ("ssl.keystore.password", None, FILE)]


def test_a_throttle_is_told_where_it_is_set(lab: ControllerLab) -> None:
    name = "leader.replication.throttled.rate"
    assert ask(lab, BROKER_RESOURCE, NODE, name).configs == []

    lab.set_config(BROKER_RESOURCE, "", name, "5")

    config = one(lab, BROKER_RESOURCE, NODE, name)
    assert told(config) == ("5", CLUSTER)
    assert synonyms(config) == [(name, "5", CLUSTER)]
    assert not config.read_only


def test_the_defaults_of_all_nodes_are_only_what_is_set(lab: ControllerLab) -> None:
    lab.set_config(BROKER_RESOURCE, "", "log.retention.ms", "77000")
    lab.set_config(BROKER_RESOURCE, "", "a.plugins.own", "x")

    configs = ask(lab, BROKER_RESOURCE, "").configs

    assert [(c.name, c.value, c.config_source, c.is_sensitive) for c in configs] == [
        ("log.retention.ms", "77000", CLUSTER, False),
        ("a.plugins.own", None, CLUSTER, True),
    ]
    assert synonyms(configs[0]) == [("log.retention.ms", "77000", CLUSTER)]


# --- groups and subscriptions


def test_a_group_tells_its_own_then_the_brokers(lab: ControllerLab) -> None:
    lab.set_config(GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "50001")

    config = one(lab, GROUP_RESOURCE, "g", "consumer.session.timeout.ms")

    assert told(config) == ("50001", ConfigSource.GROUP_CONFIG)
    assert synonyms(config) == [
        ("consumer.session.timeout.ms", "50001", ConfigSource.GROUP_CONFIG),
        ("group.consumer.session.timeout.ms", "45000", DEFAULT),
    ]


def test_a_group_of_no_configs_has_the_brokers(lab: ControllerLab) -> None:
    timeout = one(lab, GROUP_RESOURCE, "other", "consumer.session.timeout.ms")
    reset = one(lab, GROUP_RESOURCE, "other", "share.auto.offset.reset")

    assert synonyms(timeout) == [("group.consumer.session.timeout.ms", "45000", DEFAULT)]
    assert synonyms(reset) == [("share.auto.offset.reset", "latest", DEFAULT)]


def test_a_subscription_tells_what_is_set_and_the_defaults(lab: ControllerLab) -> None:
    lab.set_config(CLIENT_METRICS_RESOURCE, "m", "interval.ms", "500")

    configs = ask(lab, CLIENT_METRICS_RESOURCE, "m").configs

    assert [(c.name, *told(c)) for c in configs] == [
        ("interval.ms", "500", ConfigSource.CLIENT_METRICS_CONFIG),
        ("match", "", DEFAULT),
        ("metrics", "", DEFAULT),
    ]
    assert synonyms(configs[0]) == [("interval.ms", "500", ConfigSource.CLIENT_METRICS_CONFIG)]
    assert synonyms(configs[1]) == []


# --- ListConfigResources


def listed(lab: ControllerLab, types: list[int], version: int = 1) -> list[tuple[int, str]]:
    request = ListConfigResourcesRequest(resource_types=types)
    answer = lab.decide(decide_list_config_resources, request, version)
    assert answer.error_code == ErrorCode.NONE
    return [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_all_resources_are_listed_if_no_type_is_named(lab: ControllerLab) -> None:
    lab.register_broker(2, unfenced=False)
    lab.set_config(GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "50000")
    lab.set_config(CLIENT_METRICS_RESOURCE, "m", "interval.ms", "500")

    assert listed(lab, []) == [(32, "g"), (16, "m"), (8, "1"), (4, "1"), (2, "t")]
    assert listed(lab, [2, 32]) == [(32, "g"), (2, "t")]


def test_the_first_version_lists_subscriptions_only(lab: ControllerLab) -> None:
    lab.set_config(CLIENT_METRICS_RESOURCE, "m", "interval.ms", "500")

    assert listed(lab, [], version=0) == [(16, "m")]


@pytest.mark.parametrize("unknown", [0, 99])
def test_a_type_that_does_not_exist_is_not_supported(lab: ControllerLab, unknown: int) -> None:
    request = ListConfigResourcesRequest(resource_types=[2, unknown])

    answer = lab.decide(decide_list_config_resources, request)

    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])
