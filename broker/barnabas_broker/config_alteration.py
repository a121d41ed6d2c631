"""What a broker decides by itself of a request to alter configs, before the controller sees it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from barnabas_broker.loggers import Outcome
from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.wire.error_code import ErrorCode

T = TypeVar("T")

_KEPT: Final = (TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)


class Resource(Protocol):
    resource_type: int
    resource_name: str


def local_outcomes(
    node_id: int, resources: Sequence[Resource], *, may_have_loggers: bool
) -> dict[int, Outcome]:
    """By position in the request: those that are refused here."""
    seen = Counter((asked.resource_type, asked.resource_name) for asked in resources)
    outcomes = {}
    for position, asked in enumerate(resources):
        fault = _fault(node_id, asked, may_have_loggers=may_have_loggers)
        if seen[asked.resource_type, asked.resource_name] > 1:
            fault = "Each resource must appear at most once."
        if fault is not None:
            outcomes[position] = Outcome(ErrorCode.INVALID_REQUEST, fault)
    return outcomes


def merged(
    resources: Sequence[Resource],
    outcomes: Mapping[int, Outcome],
    forwarded: Sequence[T],
    response: Callable[[int, str | None, int, str], T],
) -> list[T]:
    """Everything in the order of the request; what was forwarded came back in the same order."""
    rest = iter(forwarded)
    return [
        response(*outcomes[position], asked.resource_type, asked.resource_name)
        if position in outcomes
        else next(rest)
        for position, asked in enumerate(resources)
    ]


def _fault(node_id: int, asked: Resource, *, may_have_loggers: bool) -> str | None:
    if asked.resource_type == BROKER_LOGGER_RESOURCE and may_have_loggers:
        return None
    if asked.resource_type not in _KEPT:
        return f"Unknown resource type {asked.resource_type}"
    if asked.resource_type == BROKER_RESOURCE and asked.resource_name:
        return _broker_fault(node_id, asked.resource_name)
    return None


def _broker_fault(node_id: int, name: str) -> str | None:
    """A broker's configs are altered by way of that broker."""
    try:
        asked = parse_whole(name, INT32_MAX)
    except ValueError:
        return f"Node id must be an integer, but it is: {name}"
    return (
        None
        if asked == node_id
        else f"Unexpected broker id, expected {node_id}, but received {name}"
    )
