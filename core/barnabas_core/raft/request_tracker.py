"""Requests under way: one of each kind to each node, with a timeout and a pause after a failure."""

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import Request

Kind = type[Request]
FOREVER_MS = 1 << 62


class RequestTracker:
    __slots__ = ("_backoff", "_correlation", "_in_flight", "_retry_backoff_ms", "_timeout_ms")

    def __init__(self, timeout_ms: int, retry_backoff_ms: int, first_correlation: int) -> None:
        self._timeout_ms = timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._correlation = first_correlation
        self._in_flight: dict[tuple[NodeId, Kind], tuple[int, int]] = {}
        self._backoff: dict[NodeId, int] = {}

    def is_idle(self, target: NodeId, kind: Kind, now_ms: int) -> bool:
        """Could a request be sent now?"""
        if (target, kind) in self._in_flight:
            return False
        return not self._backoff or self._backoff.get(target, 0) <= now_ms

    def has_any(self, kind: Kind) -> bool:
        return any(key[1] is kind for key in self._in_flight)

    def start(self, target: NodeId, kind: Kind, now_ms: int) -> int:
        """The correlation of a new request."""
        assert (target, kind) not in self._in_flight, f"{kind.__name__} to {target} is under way"
        self._correlation += 1
        self._in_flight[target, kind] = (self._correlation, now_ms + self._timeout_ms)
        return self._correlation

    def finish(self, source: NodeId, kind: Kind, correlation: int) -> bool:
        """Was somebody waiting for this answer?"""
        entry = self._in_flight.get((source, kind))
        if entry is None or entry[0] != correlation:
            return False
        del self._in_flight[source, kind]
        return True

    def back_off(self, target: NodeId, now_ms: int, pause_ms: int = 0) -> None:
        self._backoff[target] = now_ms + max(pause_ms, self._retry_backoff_ms)

    def end_back_off(self, target: NodeId) -> None:
        self._backoff.pop(target, None)

    def lose(self, target: NodeId, now_ms: int) -> None:
        lost = [key for key in self._in_flight if key[0] == target]
        for key in lost:
            del self._in_flight[key]
        if lost:
            self.back_off(target, now_ms)

    def expire(self, now_ms: int) -> None:
        late = [key for key, (_, deadline) in self._in_flight.items() if deadline <= now_ms]
        for key in late:
            del self._in_flight[key]
            self.back_off(key[0], now_ms)
        if self._backoff:
            self._backoff = {node: at for node, at in self._backoff.items() if at > now_ms}

    def forget(self) -> None:
        """The state that asked is gone: its answers are not waited for."""
        self._in_flight.clear()
        self._backoff.clear()

    def deadline_ms(self) -> int:
        first = min((at for _, at in self._in_flight.values()), default=FOREVER_MS)
        return min(first, min(self._backoff.values(), default=FOREVER_MS))
