"""DescribeCluster (key 60), served v0-v2.

v1 the type of endpoint (KIP-919): a client that looks for controllers is told that it is in the
wrong place; v2 fenced brokers, where the client asks for them. The controller is any live broker,
which forwards what is for the real one.
"""

from typing import Final

from barnabas_broker.authorized_operations import CLUSTER_OPERATIONS
from barnabas_broker.cluster_view import ClusterView
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)

_BROKERS: Final = 1
_CONTROLLERS: Final = 2
_NOBODY: Final = -1


class DescribeClusterHandler:
    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def handle(
        self, request: DescribeClusterRequest, context: RequestContext
    ) -> DescribeClusterResponse:
        if request.endpoint_type == _CONTROLLERS:
            return DescribeClusterResponse(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
                error_message="The request was sent to an endpoint of type BROKER, but we wanted "
                "an endpoint of type CONTROLLER",
            )
        if request.endpoint_type != _BROKERS:
            return DescribeClusterResponse(
                error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
                error_message=f"Unsupported endpoint type {request.endpoint_type}",
            )
        return self._description(request, context.peer.listener)

    def _description(
        self, request: DescribeClusterRequest, listener: str
    ) -> DescribeClusterResponse:
        view = self._view
        brokers = self._brokers(listener, include_fenced=request.include_fenced_brokers)
        controller_id = view.controller_id
        is_listed = any(broker.broker_id == controller_id for broker in brokers)
        response = DescribeClusterResponse(
            cluster_id=view.cluster_id,
            controller_id=controller_id if is_listed else _NOBODY,
            brokers=brokers,
        )
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response

    def _brokers(self, listener: str, *, include_fenced: bool) -> list[DescribeClusterBroker]:
        brokers = []
        for broker_id, broker in sorted(self._view.image.cluster.brokers.items()):
            at = broker.listener(listener)
            if at is not None and (include_fenced or not broker.is_fenced):
                brokers.append(
                    DescribeClusterBroker(
                        broker_id, at.host, at.port, broker.rack, broker.is_fenced
                    )
                )
        return brokers
