"""The time of one shard, which stands still while nothing can be written to it.

What comes of a deadline are records. And whoever is refused meanwhile has no way to show that it is
there: when records can be written again, nobody may be found to have been silent for too long, and
all deadlines of members are armed anew.
"""


class ShardTime:
    def __init__(self) -> None:
        self._stood_ms = 0
        self._stands_since_ms: int | None = None

    @property
    def stands(self) -> bool:
        return self._stands_since_ms is not None

    def at(self, monotonic_ms: int) -> int:
        """What it is when the clock shows `monotonic_ms`."""
        at_ms = monotonic_ms if self._stands_since_ms is None else self._stands_since_ms
        return at_ms - self._stood_ms

    def stop(self, monotonic_ms: int) -> None:
        if self._stands_since_ms is None:
            self._stands_since_ms = monotonic_ms

    def go_on(self, monotonic_ms: int) -> None:
        if self._stands_since_ms is not None:
            self._stood_ms += monotonic_ms - self._stands_since_ms
            self._stands_since_ms = None
