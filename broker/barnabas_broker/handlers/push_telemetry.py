"""PushTelemetry (key 72), served v0 (KIP-714).

Metrics that this broker asked the client for, kept for Prometheus until the next push is overdue.
One that comes too early, too large, or under another subscription is refused with Kafka's error;
one that cannot be read with INVALID_RECORD.
"""

from collections.abc import Awaitable
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.handlers.get_telemetry_subscriptions import traits_of
from barnabas_broker.telemetry.client_figures import ClientFigures
from barnabas_broker.telemetry.instances import ClientInstance, ClientInstances
from barnabas_broker.telemetry.payload import BadPayload, read_payload
from barnabas_core.ports import Clock, Executor
from barnabas_core.records.compression import Compression
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.push_telemetry_request import PushTelemetryRequest
from barnabas_core.wire.messages.push_telemetry_response import PushTelemetryResponse
from barnabas_core.wire.primitive import ZERO_UUID

_KEPT_INTERVALS: Final = 3
_LAST_WORD_KEPT_MS: Final = 60_000


class PushTelemetryHandler:
    def __init__(
        self,
        instances: ClientInstances,
        figures: ClientFigures,
        view: ClusterView,
        on: tuple[Clock, Executor],
        bytes_max: int,
    ) -> None:
        self._instances = instances
        self._figures = figures
        self._view = view
        self._clock, self._executor = on
        self._bytes_max = bytes_max

    def handle(
        self, request: PushTelemetryRequest, context: RequestContext
    ) -> PushTelemetryResponse | Awaitable[PushTelemetryResponse]:
        instance_id = request.client_instance_id
        if instance_id == ZERO_UUID:
            return PushTelemetryResponse(error_code=ErrorCode.INVALID_REQUEST)
        now_ms = self._clock.monotonic_ms()
        client = self._instances.find(traits_of(instance_id, context), self._view.image, now_ms)
        error = client.on_pushed(request, self._bytes_max, now_ms)
        if error is not ErrorCode.NONE or not request.metrics:
            return PushTelemetryResponse(error_code=error)
        return self._take(client, request)

    async def _take(
        self, client: ClientInstance, request: PushTelemetryRequest
    ) -> PushTelemetryResponse:
        codec = Compression(request.compression_type)
        try:
            points = await self._executor.in_thread(
                lambda: read_payload(codec, request.metrics, self._bytes_max)
            )
        except BadPayload:
            self._figures.error_count += 1
            client.last_error = ErrorCode.INVALID_RECORD
            return PushTelemetryResponse(error_code=ErrorCode.INVALID_RECORD)
        keep_ms = _KEPT_INTERVALS * client.subscription.interval_ms
        traits = client.traits
        self._figures.take(
            traits.client_instance_id,
            traits.client_id,
            points,
            # Long enough to be scraped, whatever the interval was.
            _LAST_WORD_KEPT_MS if request.terminating else max(keep_ms, _LAST_WORD_KEPT_MS),
        )
        return PushTelemetryResponse()
