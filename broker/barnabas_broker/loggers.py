"""The loggers of this process as a resource that admin clients describe and alter (KIP-412).

Levels are not metadata: each process keeps its own, and only while it runs.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.config.source import ConfigSource
from barnabas_core.runtime.log_levels import LEVELS, ROOT, LogLevels
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsResource
from barnabas_core.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from barnabas_core.wire.messages.incremental_alter_configs_request import AlterableConfig


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Outcome(NamedTuple):
    """Of a change to one resource, with Kafka's words."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


DONE = Outcome()


class Loggers:
    def __init__(self, node_id: int, levels: LogLevels) -> None:
        self._node_id = node_id
        self._levels = levels

    def describe(self, asked: DescribeConfigsResource) -> DescribeConfigsResult:
        name = asked.resource_name
        result = DescribeConfigsResult(
            error_message=None, resource_type=asked.resource_type, resource_name=name
        )
        fault = self._describe_fault(name)
        if fault is not None:
            result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, fault
            return result
        wanted = frozenset(asked.configuration_keys or ())
        result.configs = [
            DescribeConfigsResourceResult(
                logger,
                level,
                config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
                documentation=None,
            )
            for logger, level in self._levels.all().items()
            if not wanted or logger in wanted
        ]
        return result

    def _describe_fault(self, name: str) -> str | None:
        if not name:
            return "Broker id must not be empty"
        node_id = _number(name)
        if node_id is None:
            return f"Broker id must be an integer, but it is: {name}"
        if node_id != self._node_id:
            return f"Unexpected broker id, expected {self._node_id} but received {name}"
        return None

    def alter(
        self, name: str, changes: Sequence[AlterableConfig], *, validate_only: bool
    ) -> Outcome:
        """All of the changes, or none and why not."""
        node_id = _number(name)
        if node_id is None:
            return _invalid_request(f"Node id must be an integer, but it is: {name}")
        if node_id != self._node_id:
            return _invalid_request(
                f"Unexpected node id. Expected {self._node_id}, but received {name}"
            )
        for change in changes:
            refused = self._refusal(change)
            if refused is not None:
                return refused
        for change in changes if not validate_only else ():
            if change.config_operation == Operation.DELETE:
                self._levels.unset(change.name)
            else:
                assert change.value is not None, "it was refused"
                self._levels.set(change.name, change.value)
        return DONE

    def _refusal(self, change: AlterableConfig) -> Outcome | None:
        try:
            operation = Operation(change.config_operation)
        except ValueError:
            return _invalid_request(
                f"Unknown operation type {change.config_operation} is not allowed for the "
                f"BROKER_LOGGER resource"
            )
        if operation in (Operation.APPEND, Operation.SUBTRACT):
            return _invalid_request(
                f"{operation.name} operation is not allowed for the BROKER_LOGGER resource"
            )
        if not self._levels.knows(change.name):
            return _invalid_config(f"Logger {change.name} does not exist!")
        if operation is Operation.SET and change.value not in LEVELS:
            return _invalid_config(
                f"Cannot set the log level of {change.name} to {change.value} as it is not a "
                f"supported log level. Valid log levels are {', '.join(sorted(LEVELS))}"
            )
        if operation is Operation.DELETE and change.name == ROOT:
            return _invalid_request("Removing the log level of the root logger is not allowed")
        return None


def _number(name: str) -> int | None:
    try:
        return parse_whole(name, INT32_MAX)
    except ValueError:
        return None


def _invalid_request(message: str) -> Outcome:
    return Outcome(ErrorCode.INVALID_REQUEST, message)


def _invalid_config(message: str) -> Outcome:
    return Outcome(ErrorCode.INVALID_CONFIG, message)
