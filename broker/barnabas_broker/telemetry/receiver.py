"""Metrics pushed by clients, end to end: the two apis, and the figures that come of them."""

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.handlers.get_telemetry_subscriptions import GetTelemetrySubscriptionsHandler
from barnabas_broker.handlers.push_telemetry import PushTelemetryHandler
from barnabas_broker.telemetry.client_figures import ClientFigures
from barnabas_broker.telemetry.instances import ClientInstances
from barnabas_core.ports import Clock, Executor, Rng
from barnabas_core.server.dispatch import Handler
from barnabas_core.wire.api import ApiKey


class TelemetryReceiver:
    def __init__(
        self, view: ClusterView, clock: Clock, executor: Executor, rng: Rng, bytes_max: int
    ) -> None:
        self.figures = ClientFigures(clock)
        instances = ClientInstances()
        subscriptions = GetTelemetrySubscriptionsHandler(
            instances, view, clock, lambda: rng.randbytes(16), bytes_max
        )
        push = PushTelemetryHandler(instances, self.figures, view, (clock, executor), bytes_max)
        self.handlers = (
            Handler(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, subscriptions.handle),
            Handler(ApiKey.PUSH_TELEMETRY, push.handle),
        )
