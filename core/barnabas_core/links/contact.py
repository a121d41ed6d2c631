"""Whether the two ends of a stream are in touch, as one of them sees it. Pure.

They are while something is heard at least once a second, if only a ping, and while what was sent is
known to have arrived within a second: a network may lose one direction alone. Counted in time: an
end that was stopped itself has heard of nobody meanwhile.
"""


class Contact:
    def __init__(self, now_ms: int, pause_ms: int) -> None:
        self._pause_ms = pause_ms
        self._heard_at_ms = self._since_ms = now_ms
        self._sent_count = 0
        self._arrived_count = 0
        self._waits_since_ms: int | None = None
        """Since when nothing new of what was sent is known to have arrived."""

    def on_sent(self, now_ms: int) -> None:
        """A frame that the other end will confirm."""
        self._sent_count += 1
        if self._waits_since_ms is None:
            self._waits_since_ms = now_ms

    def on_heard(self, arrived_count: int, now_ms: int) -> None:
        """Any frame; `arrived_count`: how many of ours it confirms."""
        if self._is_pause(now_ms):
            self._since_ms = now_ms
        self._heard_at_ms = now_ms
        if arrived_count >= self._sent_count:
            self._waits_since_ms = None
        elif arrived_count > self._arrived_count:
            self._waits_since_ms = now_ms
        self._arrived_count = arrived_count

    def length_ms(self, now_ms: int) -> int:
        """How long they were in touch without a pause, up to what was heard last; 0 in one.

        Not up to now: one word between two cuts would pass for a second of contact.
        """
        return 0 if self._is_pause(now_ms) else self._heard_at_ms - self._since_ms

    def _is_pause(self, now_ms: int) -> bool:
        silent_ms = now_ms - self._heard_at_ms
        waited_ms = 0 if self._waits_since_ms is None else now_ms - self._waits_since_ms
        return max(silent_ms, waited_ms) >= self._pause_ms
