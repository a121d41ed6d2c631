"""What a node says of itself as it registers, in the terms of the record that keeps it.

Brokers and controllers say the same in messages of their own.
"""

from collections.abc import Callable
from typing import TypeVar

from barnabas_core.wire.messages.broker_registration_request import BrokerRegistrationRequest
from barnabas_core.wire.messages.controller_registration_request import (
    ControllerRegistrationRequest,
)

Registration = BrokerRegistrationRequest | ControllerRegistrationRequest
T = TypeVar("T")


def announced_endpoints(
    request: Registration, endpoint: Callable[[str, str, int, int], T]
) -> list[T]:
    """`endpoint`: of (name, host, port, security protocol)."""
    return [
        endpoint(one.name, one.host, one.port, one.security_protocol) for one in request.listeners
    ]


def announced_features(request: Registration, feature: Callable[[str, int, int], T]) -> list[T]:
    """`feature`: of (name, lowest level, highest level)."""
    return [
        feature(one.name, one.min_supported_version, one.max_supported_version)
        for one in request.features
    ]
