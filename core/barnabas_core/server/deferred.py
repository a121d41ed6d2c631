"""An answer that comes later, without a task or an event-loop turn in between.

A handler that must wait (for its records to be written, for records to fetch) returns a
`Deferred` and resolves it when it is done; whoever waits is called at once, from within
`resolve`. An asyncio.Future would call through the loop one turn later, and a coroutine would
cost a task: at tens of thousands of requests a second both are most of the price of a request.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """Resolved once, waited for by one."""

    __slots__ = ("_has_value", "_is_cancelled", "_on_cancel", "_then", "_value")

    def __init__(self, on_cancel: Callable[[], None] | None = None) -> None:
        self._on_cancel = on_cancel
        self._then: Callable[[T], None] | None = None
        self._value: T | None = None
        self._has_value = False
        self._is_cancelled = False

    @property
    def is_done(self) -> bool:
        """Resolved, or nobody waits any more."""
        return self._has_value or self._is_cancelled

    def on_cancel(self, call: Callable[[], None]) -> None:
        """What to do when the one who asked has gone."""
        self._on_cancel = call

    def resolve(self, value: T) -> None:
        if self._is_cancelled:
            return
        assert not self._has_value, "resolved twice"
        self._has_value = True
        if self._then is None:
            self._value = value
        else:
            self._then(value)

    def then(self, call: Callable[[T], None]) -> None:
        """Call with the value: now if it is there, else from within `resolve`."""
        if self._has_value:
            value, self._value = self._value, None
            call(value)  # type: ignore[arg-type]  # T itself may allow None
        else:
            self._then = call

    def cancel(self) -> None:
        """The one who asked has gone: the value, should it come, is dropped."""
        if self.is_done:
            return
        self._is_cancelled = True
        self._then = None
        if self._on_cancel is not None:
            self._on_cancel()
