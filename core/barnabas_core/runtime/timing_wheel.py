"""A hierarchical timing wheel: many timeouts of which few ever fire, each O(1) to set and cancel.

Time is cut into milliseconds, and a moment is read as digits to the base 64. An entry waits in the
wheel of the highest digit in which its deadline differs from the wheel's present, in the slot named
by that digit; when time reaches the slot, its entries move to lower wheels, and those of the lowest
wheel are due. A bit mask per wheel says which slots are in use, so that the next moment with work
is found without ticking through the empty ones.

Pure: time is passed in. Entries of one millisecond come out in the order in which they went in, but
for those that moved down from a higher wheel.
"""

from collections.abc import Callable
from typing import Final

_BITS: Final = 6
_SLOT_COUNT: Final = 1 << _BITS
_WHEEL_COUNT: Final = 7
_DELAY_MS_MAX: Final = (1 << (_BITS * (_WHEEL_COUNT - 1))) - 1  # 2.2 years


class Timeout:
    """A callback and the moment it is due; made by the wheel."""

    __slots__ = ("call", "deadline_ms", "slot", "wheel")

    def __init__(self, call: Callable[[], None], deadline_ms: int) -> None:
        self.call = call
        self.deadline_ms = deadline_ms
        self.wheel = -1  # not waiting
        self.slot = -1


class TimingWheel:
    def __init__(self, now_ms: int) -> None:
        self._present_ms = now_ms
        self._used = [0] * _WHEEL_COUNT
        # Dicts, for their insertion order: what is due together must come out the same in every
        # run.
        self._slots: list[list[dict[Timeout, None]]] = [
            [{} for _ in range(_SLOT_COUNT)] for _ in range(_WHEEL_COUNT)
        ]

    def add(self, deadline_ms: int, call: Callable[[], None]) -> Timeout:
        """A deadline that has passed is due in the next millisecond."""
        earliest_ms = self._present_ms + 1
        latest_ms = self._present_ms + _DELAY_MS_MAX
        timeout = Timeout(call, min(max(deadline_ms, earliest_ms), latest_ms))
        self._place(timeout)
        return timeout

    def cancel(self, timeout: Timeout) -> None:
        """No effect on one that has come out or was cancelled."""
        wheel = timeout.wheel
        if wheel < 0:
            return
        entries = self._slots[wheel][timeout.slot]
        del entries[timeout]
        if not entries:
            self._used[wheel] &= ~(1 << timeout.slot)
        timeout.wheel = -1

    def next_deadline_ms(self) -> int | None:
        """When to call `advance`: the next deadline, or earlier, never later."""
        slot = self._next_slot()
        return None if slot is None else slot[2]

    def advance(self, now_ms: int) -> list[Timeout]:
        """Move the present to `now_ms`; what has become due, in the order of the deadlines."""
        due: list[Timeout] = []
        while (found := self._next_slot()) is not None and found[2] <= now_ms:
            wheel, slot, start_ms = found
            self._present_ms = start_ms
            entries = self._slots[wheel][slot]
            self._slots[wheel][slot] = {}
            self._used[wheel] &= ~(1 << slot)
            for timeout in entries:
                if timeout.deadline_ms <= start_ms:
                    timeout.wheel = -1
                    due.append(timeout)
                else:
                    self._place(timeout)
        self._present_ms = max(self._present_ms, now_ms)
        return due

    def _place(self, timeout: Timeout) -> None:
        differing = timeout.deadline_ms ^ self._present_ms
        wheel = (differing.bit_length() - 1) // _BITS
        slot = (timeout.deadline_ms >> (_BITS * wheel)) & (_SLOT_COUNT - 1)
        timeout.wheel, timeout.slot = wheel, slot
        self._slots[wheel][slot][timeout] = None
        self._used[wheel] |= 1 << slot

    def _next_slot(self) -> tuple[int, int, int] | None:
        """(wheel, slot, moment at which it starts) of the first slot in use.

        A slot in use always lies after the present one of its wheel, and before every slot of a
        higher wheel, whose entries differ from the present in a higher digit.
        """
        for wheel, used in enumerate(self._used):
            if used:
                slot = (used & -used).bit_length() - 1
                shift = _BITS * wheel
                above = self._present_ms >> (shift + _BITS) << (shift + _BITS)
                return wheel, slot, above + (slot << shift)
        return None
