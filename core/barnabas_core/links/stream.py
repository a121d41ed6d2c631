"""One end of a stream as a pure machine: items and frames in, frames and items out.

    offer(item)  -> it travels in the next frame
    next_frame() -> what to send now, or None
    on_frame(f)  -> the items in it, in order
    on_tick()    -> twice a second: whether the other end has been silent for too long

**The stream clocks itself.** At most two frames with items are under way each way; what is offered
meanwhile waits and goes out together. Every frame says how many were received; a frame that says
only that is sent when the other end may be waiting for it: after the second small frame, or at once
after a large one. It needs no acknowledgement itself.

**Pushes have a window of their own**, in bytes, because their receiver may be slow while reading
never stops: `push_room` says whether one may be offered, and bytes are given back when the
application has dealt with them (`on_push_handled`).

**Silence is counted in ticks, not in time**, so that a process that was stopped itself and wakes up
does not blame its peers before it has read what they sent.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from barnabas_core.links.item import (
    WHOLE_STREAM,
    Frame,
    Hello,
    Item,
    Push,
    Refusal,
    item_bytes,
)

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB


class BadFrame(Exception):
    """The other end does not keep to the protocol: the stream is closed."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    frame_bytes: int = _MIB
    """Of several items together; a larger one goes alone."""
    frame_items: int = 1_024
    in_flight_frames: int = 2
    prompt_bytes: int = 64 * _KIB
    """So many bytes received, or pushes dealt with, are acknowledged without waiting for more."""
    push_window_bytes: int = 2 * _MIB
    silent_ticks: int = 6


class Stream:
    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._waiting: deque[Item] = deque()
        self._waiting_bytes = 0
        self._sent_count = 0
        self._sent_and_received_count = 0
        self._received_count = 0
        self._acknowledged_count = 0
        self._unacknowledged_bytes = 0
        self._is_greeted = False
        self._pushes = _PushWindow(limits)
        self._is_ping_due = False
        self._has_sent = False
        self._has_heard = True
        self._silent_ticks = 0

    @property
    def waiting_bytes(self) -> int:
        """Offered, and not in a frame yet."""
        return self._waiting_bytes

    @property
    def unsent_items(self) -> tuple[Item, ...]:
        return tuple(self._waiting)

    def offer(self, item: Item) -> None:
        self._waiting.append(item)
        self._waiting_bytes += item_bytes(item)
        if isinstance(item, Push):
            self._pushes.on_offered(item_bytes(item))

    def withdraw(self, item: Item) -> bool:
        """Whether the item had not left yet; then it never will."""
        try:
            self._waiting.remove(item)
        except ValueError:
            return False
        self._waiting_bytes -= item_bytes(item)
        return True

    def push_room(self, push: Push) -> bool:
        return self._pushes.has_room(item_bytes(push))

    def on_push_handled(self, push: Push) -> None:
        self._pushes.on_handled(item_bytes(push))

    def next_frame(self) -> Frame | None:
        in_flight = self._sent_count - self._sent_and_received_count
        may_send = bool(self._waiting) and in_flight < self._limits.in_flight_frames
        if may_send:
            self._sent_count += 1
        elif not self._must_report():
            return None
        self._acknowledged_count = self._received_count
        self._unacknowledged_bytes = 0
        # A ping does not stand for the next one: they come with every tick.
        self._has_sent = self._has_sent or may_send or not self._is_ping_due
        self._is_ping_due = False
        handled_push_bytes = self._pushes.report()
        items = self._take_items() if may_send else ()
        return Frame(self._received_count, handled_push_bytes, items)

    def _must_report(self) -> bool:
        unacknowledged = self._received_count - self._acknowledged_count
        return (
            self._is_ping_due
            or unacknowledged >= self._limits.in_flight_frames
            or self._unacknowledged_bytes >= self._limits.prompt_bytes
            or self._pushes.must_report
        )

    def _take_items(self) -> tuple[Item, ...]:
        items = [self._take_item()]
        size = item_bytes(items[0])
        while self._waiting and len(items) < self._limits.frame_items:
            size += item_bytes(self._waiting[0])
            if size > self._limits.frame_bytes:
                break
            items.append(self._take_item())
        return tuple(items)

    def _take_item(self) -> Item:
        item = self._waiting.popleft()
        self._waiting_bytes -= item_bytes(item)
        return item

    def on_frame(self, frame: Frame) -> tuple[Item, ...]:
        """The items that arrived. `BadFrame` changes nothing but ends the stream."""
        received = frame.received_frame_count
        if not self._sent_and_received_count <= received <= self._sent_count:
            raise BadFrame(f"{received} frames received, of {self._sent_count} sent")
        self._check_order(frame.items)
        self._pushes.on_reported(frame.handled_push_bytes)
        self._pushes.on_received(frame.items)
        self._sent_and_received_count = received
        self._has_heard = True
        if frame.items:
            self._is_greeted = True
            self._received_count += 1
            self._unacknowledged_bytes += sum(map(item_bytes, frame.items))
        return frame.items

    def _check_order(self, items: tuple[Item, ...]) -> None:
        for position, item in enumerate(items):
            is_first = not self._is_greeted and position == 0
            if is_first and isinstance(item, Refusal) and item.call_id == WHOLE_STREAM:
                continue
            if isinstance(item, Hello) != is_first:
                raise BadFrame("a stream begins with one hello, or with its refusal")

    def on_tick(self) -> bool:
        """True: the other end has been silent for too long. Otherwise a ping may be due."""
        self._silent_ticks = 0 if self._has_heard else self._silent_ticks + 1
        self._is_ping_due = not self._has_sent
        self._has_heard = self._has_sent = False
        return self._silent_ticks >= self._limits.silent_ticks


class _PushWindow:
    """Both directions' pushes: bytes that may still be sent, and bytes that were dealt with."""

    def __init__(self, limits: StreamLimits) -> None:
        self._window_bytes = limits.push_window_bytes
        self._prompt_bytes = min(limits.prompt_bytes, limits.push_window_bytes // 4)
        self._sent_bytes = 0
        self._sent_and_handled_bytes = 0
        self._received_bytes = 0
        self._handled_bytes = 0
        self._reported_bytes = 0

    def has_room(self, size: int) -> bool:
        # One that is larger than the window may go when half of it is free, or it never would:
        # the last few bytes dealt with are reported only with something else.
        wanted = min(size, self._window_bytes // 2)
        return self._sent_bytes - self._sent_and_handled_bytes + wanted <= self._window_bytes

    def on_offered(self, size: int) -> None:
        self._sent_bytes += size

    def on_reported(self, handled_bytes: int) -> None:
        if not self._sent_and_handled_bytes <= handled_bytes <= self._sent_bytes:
            raise BadFrame(f"{handled_bytes} bytes of pushes handled, of {self._sent_bytes} sent")
        self._sent_and_handled_bytes = handled_bytes

    def on_received(self, items: tuple[Item, ...]) -> None:
        received_bytes = self._received_bytes
        for item in items:
            if isinstance(item, Push):
                size = item_bytes(item)
                wanted = min(size, self._window_bytes // 2)
                if received_bytes - self._reported_bytes + wanted > self._window_bytes:
                    raise BadFrame("more pushes than there is room for")
                received_bytes += size
        self._received_bytes = received_bytes

    def on_handled(self, size: int) -> None:
        self._handled_bytes += size

    @property
    def must_report(self) -> bool:
        return self._handled_bytes - self._reported_bytes >= self._prompt_bytes

    def report(self) -> int:
        self._reported_bytes = self._handled_bytes
        return self._handled_bytes
