"""One resource of a DescribeConfigs request, answered; brokers and controllers do it alike.

Loggers are not answered here: they are not metadata. Documentation is never sent: the texts are
Kafka's own.
"""

from collections.abc import Sequence

from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.metadata.config_description import ConfigDescriber, ConfigDescription
from barnabas_core.metadata.keyed_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.metadata.topic_name import topic_name_fault
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsResource
from barnabas_core.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


class _Refused(Exception):
    def __init__(self, message: str, error: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.error = error


def describe_resource(
    describer: ConfigDescriber, asked: DescribeConfigsResource, *, include_synonyms: bool
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=asked.resource_type, resource_name=asked.resource_name
    )
    try:
        described = _describe(describer, asked)
    except _Refused as refused:
        result.error_code, result.error_message = refused.error, str(refused)
    else:
        result.configs = [_entry(each, include_synonyms=include_synonyms) for each in described]
    return result


def _describe(
    describer: ConfigDescriber, asked: DescribeConfigsResource
) -> Sequence[ConfigDescription]:
    name, keys = asked.resource_name, asked.configuration_keys
    if asked.resource_type == TOPIC_RESOURCE:
        _check_topic(describer, name)
        return describer.topic(name, keys)
    if asked.resource_type == BROKER_RESOURCE:
        if not name:
            return describer.node_defaults(keys)
        _check_node(describer.node_id, name)
        return describer.node(keys)
    if asked.resource_type == GROUP_RESOURCE:
        _check_not_empty(name, "Group name must not be empty")
        return describer.group(name, keys)
    if asked.resource_type == CLIENT_METRICS_RESOURCE:
        _check_not_empty(name, "Client metrics subscription name must not be empty")
        return describer.client_metrics(name, keys)
    raise _Refused(f"Unsupported resource type: {asked.resource_type}")


def _check_not_empty(name: str, message: str) -> None:
    if not name:
        raise _Refused(message)


def _check_topic(describer: ConfigDescriber, name: str) -> None:
    fault = topic_name_fault(name)
    if fault is not None:
        raise _Refused(fault, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if describer.image.topics.named(name) is None:
        raise _Refused("", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _check_node(node_id: int, name: str) -> None:
    """Only a node itself knows its properties file."""
    try:
        asked = parse_whole(name, INT32_MAX)
    except ValueError:
        raise _Refused(f"Broker id must be an integer, but it is: {name}") from None
    if asked != node_id:
        raise _Refused(
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        )


def _entry(config: ConfigDescription, *, include_synonyms: bool) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.is_read_only,
        config_source=config.source,
        is_sensitive=config.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in (config.synonyms if include_synonyms else ())
        ],
        config_type=config.type,
        documentation=None,
    )
