"""The clients that were asked for metrics, and when each of them may speak again.

A client gets its subscription, then pushes once per interval: what comes earlier is answered with
THROTTLING_QUOTA_EXCEEDED. It may push at once after it was given a subscription, and out of turn
when it is about to end, once. Time is passed in.
"""

from dataclasses import dataclass
from typing import Final

from barnabas_broker.telemetry.subscription import ClientTraits, Subscription, Subscriptions
from barnabas_core.metadata.image import Image
from barnabas_core.records.compression import Compression
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.push_telemetry_request import PushTelemetryRequest

INSTANCE_COUNT_MAX: Final = 4096
_FORGOTTEN_AFTER_INTERVALS: Final = 3
_FORGOTTEN_MS_MIN: Final = 60_000
_NEVER_MS: Final = -(1 << 62)
# After these a client is to ask for its subscription at once.
_ASK_AGAIN: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


@dataclass(slots=True)
class ClientInstance:
    traits: ClientTraits
    subscription: Subscription
    subscriptions: Subscriptions
    seen_at_ms: int = 0
    asked_at_ms: int = _NEVER_MS
    pushed_at_ms: int = _NEVER_MS
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    def on_asked(self, now_ms: int) -> ErrorCode:
        last_ms = max(self.asked_at_ms, self.pushed_at_ms)
        if now_ms - last_ms < self.subscription.interval_ms and self.last_error not in _ASK_AGAIN:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self.asked_at_ms = now_ms
        self.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def on_pushed(self, request: PushTelemetryRequest, bytes_max: int, now_ms: int) -> ErrorCode:
        error = self._check(request, bytes_max, now_ms)
        self.is_terminating = request.terminating
        self.last_error = error
        return error

    def _check(self, request: PushTelemetryRequest, bytes_max: int, now_ms: int) -> ErrorCode:
        if self.is_terminating:
            return ErrorCode.INVALID_REQUEST  # it said that this was its last word
        if not self._may_push(now_ms) and not request.terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if request.subscription_id != self.subscription.id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if not 0 <= request.compression_type < len(Compression):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if len(request.metrics) > bytes_max:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE

    def _may_push(self, now_ms: int) -> bool:
        was_asked = self.asked_at_ms > self.pushed_at_ms
        if not was_asked and now_ms - self.pushed_at_ms < self.subscription.interval_ms:
            return False
        self.pushed_at_ms = now_ms
        return True

    def is_forgotten(self, now_ms: int) -> bool:
        silence_ms = now_ms - self.seen_at_ms
        allowed_ms = _FORGOTTEN_AFTER_INTERVALS * self.subscription.interval_ms
        return silence_ms > max(allowed_ms, _FORGOTTEN_MS_MIN)


class ClientInstances:
    def __init__(self) -> None:
        self._instances: dict[bytes, ClientInstance] = {}
        self._image_configs: object = None
        self._subscriptions: Subscriptions | None = None

    def __len__(self) -> int:
        return len(self._instances)

    def find(self, traits: ClientTraits, image: Image, now_ms: int) -> ClientInstance:
        """The client as it is known; anew where it is not, or where subscriptions have changed."""
        subscriptions = self._current(image)
        key = traits.client_instance_id
        found = self._instances.pop(key, None)
        if found is None or found.subscriptions is not subscriptions:
            found = ClientInstance(traits, subscriptions.of(traits), subscriptions)
        found.seen_at_ms = now_ms
        self._instances[key] = found  # last: whoever was silent the longest is first
        if len(self._instances) > INSTANCE_COUNT_MAX:
            self._make_room(now_ms)
        return found

    def _current(self, image: Image) -> Subscriptions:
        # Images share what did not change: the same table of configs means the same resources.
        if self._subscriptions is None or self._image_configs is not image.configs:
            self._image_configs = image.configs
            self._subscriptions = Subscriptions(image)
        return self._subscriptions

    def _make_room(self, now_ms: int) -> None:
        for key, one in list(self._instances.items()):
            if one.is_forgotten(now_ms):
                del self._instances[key]
        while len(self._instances) > INSTANCE_COUNT_MAX:
            del self._instances[next(iter(self._instances))]
