"""`log.cleaner.io.max.bytes.per.second`: how long to wait after so many bytes."""

from collections.abc import Callable

from barnabas_core.ports import Clock

_PERIOD_MS = 1000
# Below this a pause costs more in wake-ups than it gives back.
_PAUSE_MS_MIN = 20


class Throttle:
    """Paces a blocking job; `pause_ms` is what sleeps."""

    __slots__ = ("_bytes_per_second", "_clock", "_pause_ms", "_spent_bytes", "_started_ms")

    def __init__(
        self, bytes_per_second: float, clock: Clock, pause_ms: Callable[[int], None]
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._clock = clock
        self._pause_ms = pause_ms
        self._spent_bytes = 0
        self._started_ms = clock.monotonic_ms()

    def spend(self, size_bytes: int) -> None:
        """Account for bytes moved; returns when the rate allows to go on."""
        self._spent_bytes += size_bytes
        elapsed_ms = self._clock.monotonic_ms() - self._started_ms
        ahead_ms = self._spent_bytes * 1000 / self._bytes_per_second - elapsed_ms
        if ahead_ms >= _PAUSE_MS_MIN:
            self._pause_ms(round(ahead_ms))
        if elapsed_ms >= _PERIOD_MS:
            # A slow second must not be made up for by a burst later.
            self._restart()

    def _restart(self) -> None:
        self._spent_bytes = 0
        self._started_ms = self._clock.monotonic_ms()
