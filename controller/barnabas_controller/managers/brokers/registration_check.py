"""May this broker register? The first reason against it, in the order in which Kafka looks."""

from collections.abc import Iterator
from typing import Final

from barnabas_controller.managers.brokers.registration_change import knows_directories
from barnabas_controller.managers.view import View
from barnabas_core.metadata.feature import KRAFT_VERSION, METADATA_VERSION
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_registration_request import BrokerRegistrationRequest

_SECURITY_PROTOCOLS: Final = range(4)
_RESERVED_DIRECTORIES: Final = 100
"""Directory ids below it mean something (KIP-858): unassigned, lost, migrating."""


def refusal(view: View, request: BrokerRegistrationRequest) -> ErrorCode:
    """`NONE` if it may."""
    return next(_refusals(view, request), ErrorCode.NONE)


def _refusals(view: View, request: BrokerRegistrationRequest) -> Iterator[ErrorCode]:
    if request.cluster_id != view.settings.cluster_id:
        yield ErrorCode.INCONSISTENT_CLUSTER_ID
    if _is_duplicate(view, request):
        yield ErrorCode.DUPLICATE_BROKER_REGISTRATION
    if request.is_migrating_zk_broker:
        yield ErrorCode.BROKER_ID_NOT_REGISTERED
    if knows_directories(view.image) and not _are_directories_sound(view, request):
        yield ErrorCode.INVALID_REGISTRATION
    if not _are_listeners_sound(request):
        yield ErrorCode.INVALID_REGISTRATION
    yield from _feature_refusals(view, request)


def _is_duplicate(view: View, request: BrokerRegistrationRequest) -> bool:
    """Is another process alive under this id? A broker that was told to go is not."""
    existing = view.image.cluster.brokers.get(request.broker_id)
    if existing is None or existing.incarnation_id == request.incarnation_id:
        return False
    return view.liveness.has_session(existing.id, existing.epoch, view.monotonic_ms)


def _are_directories_sound(view: View, request: BrokerRegistrationRequest) -> bool:
    wanted = request.log_dirs
    if not wanted or len(dict.fromkeys(wanted)) != len(wanted):
        return False
    if any(int.from_bytes(directory) < _RESERVED_DIRECTORIES for directory in wanted):
        return False
    others = (one for one in view.image.cluster.brokers.values() if one.id != request.broker_id)
    taken = {directory for other in others for directory in other.log_dirs}
    return taken.isdisjoint(wanted)


def _are_listeners_sound(request: BrokerRegistrationRequest) -> bool:
    names = [listener.name for listener in request.listeners]
    protocols = [listener.security_protocol for listener in request.listeners]
    return len(dict.fromkeys(names)) == len(names) and all(
        protocol in _SECURITY_PROTOCOLS for protocol in protocols
    )


def _feature_refusals(view: View, request: BrokerRegistrationRequest) -> Iterator[ErrorCode]:
    finalized = {
        **view.image.features,
        METADATA_VERSION: view.image.metadata_level,
        KRAFT_VERSION: view.quorum.kraft_version,
    }
    supported = {
        feature.name: (feature.min_supported_version, feature.max_supported_version)
        for feature in request.features
    }
    for name, (low, high) in supported.items():
        if not low <= finalized.get(name, 0) <= high:
            yield ErrorCode.UNSUPPORTED_VERSION
    if METADATA_VERSION not in supported:
        yield ErrorCode.INVALID_REGISTRATION
    if any(level > 0 for name, level in finalized.items() if name not in supported):
        yield ErrorCode.UNSUPPORTED_VERSION
