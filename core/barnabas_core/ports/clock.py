"""Time, passed in."""

from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970: what goes into records and retention."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds that never go back: what timeouts are measured in."""
        ...

    def monotonic_ns(self) -> int:
        """The same, fine enough to time a request."""
        ...
