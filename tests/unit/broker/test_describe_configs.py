"""DescribeConfigs of a broker; what is told of each resource is tested with the metadata."""

from barnabas_broker.handlers.describe_configs import DescribeConfigsHandler
from barnabas_broker.loggers import Loggers
from barnabas_core.config.source import ConfigSource
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.runtime.log_levels import LogLevels
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas_core.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from tests.support.broker_bench import context
from tests.support.cluster_image import broker, cluster_view, topic

STATIC = {"log.retention.ms": "1000", "num.io.threads": "3"}


def ask(
    resource_type: int, name: str, keys: list[str] | None = None, *, synonyms: bool = False
) -> DescribeConfigsResult:
    view = cluster_view(
        [
            broker(),
            *topic("a", b"a" * 16, configs={"retention.ms": "5"}),
            ConfigRecord(BROKER_RESOURCE, "1", "log.retention.ms", "2000"),
            ConfigRecord(BROKER_RESOURCE, "", "log.retention.ms", "3000"),
            ConfigRecord(GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "50000"),
            ConfigRecord(CLIENT_METRICS_RESOURCE, "m", "interval.ms", "100"),
        ]
    )
    levels = LogLevels("WARN")
    levels.add("barnabas.storage")
    levels.set("barnabas.storage", "DEBUG")
    handler = DescribeConfigsHandler(view, STATIC, Loggers(1, levels))
    asked = DescribeConfigsResource(resource_type, name, keys)
    request = DescribeConfigsRequest([asked], include_synonyms=synonyms)
    (result,) = handler.handle(request, context(4)).results
    assert (result.resource_type, result.resource_name) == (resource_type, name)
    return result


def one(result: DescribeConfigsResult) -> DescribeConfigsResourceResult:
    assert result.error_code == 0
    (entry,) = result.configs
    return entry


def test_a_topics_config_tells_where_else_it_is_set() -> None:
    entry = one(ask(TOPIC_RESOURCE, "a", ["retention.ms"], synonyms=True))

    assert (entry.value, entry.config_source) == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [(each.name, each.value, each.source) for each in entry.synonyms] == [
        ("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.retention.ms", "2000", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("log.retention.ms", "3000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("log.retention.ms", "1000", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]


def test_synonyms_are_told_only_if_asked_for() -> None:
    assert one(ask(TOPIC_RESOURCE, "a", ["retention.ms"])).synonyms == []


def test_a_broker_tells_its_file_and_what_is_set_at_run_time() -> None:
    threads = one(ask(BROKER_RESOURCE, "1", ["num.io.threads"]))
    assert (threads.value, threads.config_source) == ("3", ConfigSource.STATIC_BROKER_CONFIG)
    retention = one(ask(BROKER_RESOURCE, "1", ["log.retention.ms"]))
    assert (retention.value, retention.config_source) == (
        "2000",
        ConfigSource.DYNAMIC_BROKER_CONFIG,
    )
    default = one(ask(BROKER_RESOURCE, "", ["log.retention.ms"]))
    assert default.value == "3000"
    assert len(ask(BROKER_RESOURCE, "1").configs) > 200


def test_another_brokers_configs_are_refused() -> None:
    result = ask(BROKER_RESOURCE, "2")

    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert (
        result.error_message == "Unexpected broker id, expected 1 or empty string, but received 2"
    )


def test_groups_and_subscriptions_are_told() -> None:
    group = one(ask(GROUP_RESOURCE, "g", ["consumer.session.timeout.ms"]))
    assert (group.value, group.config_source) == ("50000", ConfigSource.GROUP_CONFIG)
    metrics = one(ask(CLIENT_METRICS_RESOURCE, "m", ["interval.ms"]))
    assert (metrics.value, metrics.config_source) == ("100", ConfigSource.CLIENT_METRICS_CONFIG)


def test_loggers_tell_their_levels() -> None:
    result = ask(BROKER_LOGGER_RESOURCE, "1")

    assert result.error_code == 0
    assert {each.name: each.value for each in result.configs} == {
        "barnabas.storage": "DEBUG",
        "root": "WARN",
    }
    sources = {each.config_source for each in result.configs}
    assert sources == {ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG}
    assert not any(each.read_only for each in result.configs)
    assert one(ask(BROKER_LOGGER_RESOURCE, "1", ["root"])).value == "WARN"


def test_loggers_of_another_broker_are_refused() -> None:
    messages = {
        "": "Broker id must not be empty",
        "2": "Unexpected broker id, expected 1 but received 2",
        "x": "Broker id must be an integer, but it is: x",
    }
    for name, message in messages.items():
        result = ask(BROKER_LOGGER_RESOURCE, name)
        assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, message)


def test_unknown_topics_and_types_are_refused() -> None:
    assert ask(TOPIC_RESOURCE, "b").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(TOPIC_RESOURCE, "a b").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert ask(77, "x").error_code == ErrorCode.INVALID_REQUEST
