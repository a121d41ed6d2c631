"""The real clock."""

import time


class SystemClock:
    """Wall time for records and retention, monotonic time for timeouts."""

    __slots__ = ()

    # As it is, without a frame of Python around it: it is called several times a request.
    monotonic_ns = staticmethod(time.monotonic_ns)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
