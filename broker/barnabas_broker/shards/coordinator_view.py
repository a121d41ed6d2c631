"""Which coordinators live, as this broker knows it: what the active controller pushes, merged.

A newer list replaces the older one. One that is partial only adds: its controller is new, and whom
it does not name may live all the same. The list says to whom sessions may go; it never ends one.
"""

from collections.abc import Callable
from typing import Final

from barnabas_broker.broker_config import BrokerConfig
from barnabas_core.links.coordinator_message import (
    GROUP,
    LIVE_PUSH,
    BadCoordinatorMessage,
    LiveCoordinator,
    LiveList,
    decode_live,
)
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import NO_EVENTS, LinkEvents
from barnabas_core.runtime.log_setup import EventLog

_BEFORE_ALL: Final = (-1, -1)


class CoordinatorView:
    def __init__(self, log: EventLog, *, is_told: bool = True) -> None:
        """`is_told`: controllers tell of them; else they are those that `take` is given."""
        self._log = log
        self._is_told = is_told
        self._stamp = _BEFORE_ALL
        self._known: dict[tuple[str, int], LiveCoordinator] = {}
        self._watchers: list[Callable[[], None]] = []
        self.is_full = False
        """Whoever is not in it does not live."""

    @classmethod
    def for_broker(cls, config: BrokerConfig, log: EventLog) -> "CoordinatorView":
        view = cls(log, is_told=config.has_remote_coordinators)
        address = config.local_coordinator
        if address is not None and not config.has_remote_coordinators:
            # The one in this process, which nobody has to tell of.
            view.take(LiveList(0, 0, False, (LiveCoordinator(GROUP, 0, bytes(16), address),)))
        return view

    @property
    def can_have_any(self) -> bool:
        return self._is_told or bool(self._known)

    @property
    def events(self) -> LinkEvents:
        """For the link to the active controller."""
        return LinkEvents(self.on_push) if self._is_told else NO_EVENTS

    def watch(self, on_changed: Callable[[], None]) -> None:
        self._watchers.append(on_changed)

    def of(self, role: str) -> list[LiveCoordinator]:
        """By node id."""
        return [self._known[key] for key in sorted(self._known) if key[0] == role]

    async def on_push(self, kind: int, body: Buffer) -> None:
        """From whichever controller: an older one may still have something to say."""
        if kind != LIVE_PUSH:
            return
        try:
            self.take(decode_live(body))
        except BadCoordinatorMessage as error:
            self._log.warning("the list of coordinators was not read", reason=str(error))

    def take(self, live: LiveList) -> None:
        if live.stamp <= self._stamp:
            return
        self._stamp = live.stamp
        named = {(one.role, one.node_id): one for one in live.coordinators}
        self._known = self._known | named if live.is_partial else named
        self.is_full = not live.is_partial
        for on_changed in self._watchers:
            on_changed()
