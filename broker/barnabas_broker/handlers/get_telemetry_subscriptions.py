"""GetTelemetrySubscriptions (key 71), served v0 (KIP-714).

Served only where the metrics endpoint is on: that is where pushed metrics go. A client without an
instance id gets one. Sums are asked for as totals, not as differences: what is lost on the way is
then in the next push.
"""

from collections.abc import Callable
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.telemetry.instances import ClientInstances
from barnabas_broker.telemetry.subscription import ClientTraits
from barnabas_core.ports import Clock
from barnabas_core.records.compression import Compression
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.get_telemetry_subscriptions_request import (
    GetTelemetrySubscriptionsRequest,
)
from barnabas_core.wire.messages.get_telemetry_subscriptions_response import (
    GetTelemetrySubscriptionsResponse,
)
from barnabas_core.wire.primitive import ZERO_UUID

_ACCEPTED: Final = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)


class GetTelemetrySubscriptionsHandler:
    def __init__(
        self,
        instances: ClientInstances,
        view: ClusterView,
        clock: Clock,
        new_id: Callable[[], bytes],
        bytes_max: int,
    ) -> None:
        self._instances = instances
        self._view = view
        self._clock = clock
        self._new_id = new_id
        self._bytes_max = bytes_max

    def handle(
        self, request: GetTelemetrySubscriptionsRequest, context: RequestContext
    ) -> GetTelemetrySubscriptionsResponse:
        instance_id = request.client_instance_id
        if instance_id == ZERO_UUID:
            instance_id = self._new_id()
        now_ms = self._clock.monotonic_ms()
        client = self._instances.find(traits_of(instance_id, context), self._view.image, now_ms)
        error = client.on_asked(now_ms)
        if error is not ErrorCode.NONE:
            return GetTelemetrySubscriptionsResponse(error_code=error)
        subscription = client.subscription
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=subscription.id,
            accepted_compression_types=list(map(int, _ACCEPTED)),
            push_interval_ms=subscription.interval_ms,
            telemetry_max_bytes=self._bytes_max,
            delta_temporality=False,
            requested_metrics=list(subscription.metrics),
        )


def traits_of(instance_id: bytes, context: RequestContext) -> ClientTraits:
    peer = context.peer
    return ClientTraits(
        instance_id,
        context.client_id or "",
        peer.software_name,
        peer.software_version,
        peer.host,
        peer.port,
    )
