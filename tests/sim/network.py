"""Streams between nodes: FIFO each way, no order between them, and every way to fail.

A stream breaks with a prefix of what was under way delivered and the rest lost, and both ends are
told; it stalls; it stays half open, swallowing what is sent without a word; a partition does that
to many at once.
"""

from collections.abc import Callable
from random import Random

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import Message
from tests.sim.scheduler import Scheduler

Deliver = Callable[[Message], None]
Notice = Callable[[NodeId, NodeId], None]


class Stream:
    __slots__ = ("is_open", "last_at_us", "lost", "sent", "stalled_until_us", "taken")

    def __init__(self) -> None:
        self.is_open = True
        self.sent = 0
        self.taken = 0
        self.last_at_us = 0
        self.stalled_until_us = 0
        self.lost: list[tuple[int, int]] = []
        """Ranges of message numbers, both ends in, that a break has swallowed."""


class Network:
    def __init__(self, scheduler: Scheduler, rng: Random, deliver: Deliver, notice: Notice) -> None:
        self._scheduler = scheduler
        self._rng = rng
        self._deliver = deliver
        self._notice = notice
        self._streams: dict[tuple[NodeId, NodeId], Stream] = {}
        self.latency_us = (200, 3_000)

    def stream(self, source: NodeId, target: NodeId) -> Stream:
        stream = self._streams.get((source, target))
        if stream is None:
            stream = self._streams[source, target] = Stream()
        return stream

    def send(self, message: Message) -> None:
        stream = self.stream(message.source, message.target)
        if not stream.is_open:
            return
        now_us = self._scheduler.now_us
        low, high = self.latency_us
        at_us = now_us + low + int(self._rng.random() * (high - low))
        at_us = max(at_us, stream.last_at_us, stream.stalled_until_us)
        stream.last_at_us = at_us
        stream.sent += 1
        self._scheduler.after(at_us - now_us, self._arrive, stream, stream.sent, message)

    def _arrive(self, stream: Stream, number: int, message: Message) -> None:
        stream.taken = number
        if stream.lost:
            stream.lost = [(low, high) for low, high in stream.lost if high >= number]
            if any(low <= number <= high for low, high in stream.lost):
                return
        if stream.is_open:
            self._deliver(message)

    def cut(self, source: NodeId, target: NodeId) -> None:
        """Lose a suffix of what is under way, in one direction, silently."""
        stream = self.stream(source, target)
        if stream.sent > stream.taken:
            first_lost = stream.taken + 1 + self._rng.randrange(stream.sent - stream.taken + 1)
            stream.lost.append((first_lost, stream.sent))
        stream.stalled_until_us = 0

    def break_link(self, one: NodeId, other: NodeId, *, with_notice: bool = True) -> None:
        for source, target in ((one, other), (other, one)):
            self.cut(source, target)
            if with_notice:
                delay_us = self._rng.randrange(20_000)
                self._scheduler.after(delay_us, self._notice, source, target)

    def stall(self, source: NodeId, target: NodeId, for_us: int) -> None:
        stream = self.stream(source, target)
        stream.stalled_until_us = self._scheduler.now_us + for_us

    def close(self, source: NodeId, target: NodeId) -> None:
        """Half open: the sender believes in it, nothing arrives."""
        self.stream(source, target).is_open = False

    def heal(self) -> None:
        for stream in self._streams.values():
            stream.is_open = True
            stream.stalled_until_us = 0
