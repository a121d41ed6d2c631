"""Configs of a subscription to client metrics (KIP-714)."""

import re
from collections.abc import Mapping
from typing import Final

from barnabas_controller.managers.refusal import Refusal, invalid_config, invalid_request
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.config.property_type import Value

_LEAST_INTERVAL_MS: Final = 100
_MOST_INTERVAL_MS: Final = 3_600_000
_MATCHABLE: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def validate_client_metrics_config(name: str, configs: Mapping[str, str]) -> Refusal | None:
    """None if a subscription of this name may have exactly these configs."""
    if not name:
        return invalid_request("Subscription name can't be empty")
    table = definitions(Kind.CLIENT_METRICS)
    for key in configs:
        if key not in table:
            return invalid_request(f"Unknown client metrics configuration: {key}")
    try:
        values = {key: table[key].parse(text) for key, text in configs.items()}
    except ConfigError as error:
        return invalid_config(str(error))
    return _check_interval(values.get("interval.ms")) or _check_match(values.get("match", ()))


def _check_interval(interval_ms: Value | None) -> Refusal | None:
    if interval_ms is None:
        return None
    assert isinstance(interval_ms, int), interval_ms
    if _LEAST_INTERVAL_MS <= interval_ms <= _MOST_INTERVAL_MS:
        return None
    return invalid_request(
        f"Invalid value {interval_ms} for interval.ms, interval must be between "
        f"{_LEAST_INTERVAL_MS} and {_MOST_INTERVAL_MS} (1 hour)"
    )


def _check_match(patterns: Value) -> Refusal | None:
    assert isinstance(patterns, tuple), patterns
    for pattern in patterns:
        if not _is_match(pattern):
            return invalid_config(f"Illegal client matching pattern: {pattern}")
    return None


def _is_match(pattern: str) -> bool:
    """A client's property, an equals sign, a regular expression that holds none."""
    name, _, expression = pattern.partition("=")
    if name.strip() not in _MATCHABLE or not expression or "=" in expression:
        return False
    try:
        re.compile(expression.strip())
    except (re.error, OverflowError, RecursionError):
        return False
    return True
