"""DescribeCluster (key 60) as a controller answers it, v0-v2 (KIP-919).

v1 the type of endpoint; v2 fenced brokers, which a controller does not list. A client that found
this node by `bootstrap.servers` asks for brokers: it is told that it is in the wrong place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from barnabas_core.metadata.feature import is_record_supported
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2
AUTHORIZED_OPERATIONS_OMITTED: Final = -(2**31)


@dataclass(frozen=True, slots=True)
class Answerer:
    """The controller that answers, and what it knows beside the image."""

    cluster_id: str
    listener_name: str
    """Where the request came in: the answer names the same listener of the others."""
    active_controller_id: int | None
    voters: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    """Host and port, for controllers that have not registered."""
    authorized_operations: int = AUTHORIZED_OPERATIONS_OMITTED


def describe_cluster(
    image: Image, request: DescribeClusterRequest, version: int, answerer: Answerer
) -> DescribeClusterResponse:
    if not is_record_supported("RegisterControllerRecord", image.metadata_level):
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            error_message="Direct-to-controller communication is not supported with the current "
            "MetadataVersion.",
        )
    # Version 0 cannot name a type, and so knows no error for it.
    wanted = BROKERS if version == 0 else request.endpoint_type
    if wanted == CONTROLLERS:
        return _description(image, request, answerer)
    if wanted == BROKERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = (
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of "
            "type BROKER"
        )
    else:
        error = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {wanted}"
    if version == 0:
        error = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(error_code=error, error_message=message)


def _description(
    image: Image, request: DescribeClusterRequest, answerer: Answerer
) -> DescribeClusterResponse:
    addresses = _addresses(image, answerer)
    active = answerer.active_controller_id
    wants_operations = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=answerer.cluster_id,
        controller_id=active if active is not None and active in addresses else -1,
        brokers=[
            DescribeClusterBroker(broker_id=node_id, host=host, port=port)
            for node_id, (host, port) in sorted(addresses.items())
        ],
        cluster_authorized_operations=(
            answerer.authorized_operations if wants_operations else AUTHORIZED_OPERATIONS_OMITTED
        ),
    )


def _addresses(image: Image, answerer: Answerer) -> dict[int, tuple[str, int]]:
    addresses = dict(answerer.voters)
    for controller in image.cluster.controllers.values():
        for listener in controller.listeners:
            if listener.name == answerer.listener_name:
                addresses[controller.id] = (listener.host, listener.port)
    return addresses
