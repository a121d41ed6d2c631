"""The bounds and times of links."""

from dataclasses import dataclass, field
from typing import Final

from barnabas_core.links.item import Hello
from barnabas_core.links.stream import StreamLimits
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Identity
from barnabas_core.runtime.log_setup import EventLog, FloodLimit

_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LinkConfig:
    stream: StreamLimits = field(default_factory=StreamLimits)
    tick_ms: int = 500
    """A ping goes out after so long without anything else; silence is counted in these."""
    pause_ms: int = 1_000
    """Whoever was not heard of for so long was out of touch."""
    call_count_max: int = 1_024
    """Calls under way on one stream, at either end."""
    waiting_bytes_max: int = 64 * _MIB
    """Not sent yet on one stream: more calls are not taken until there is room."""
    item_bytes_max: int = 100 * _MIB
    connect_ms: int = 3_000
    reconnect_ms_min: int = 100
    reconnect_ms_max: int = 1_000
    stream_count_max: int = 4_096
    """Served at once by one process."""


class LinkParts:
    """What every link of a process stands on."""

    def __init__(self, identity: Identity, clock: Clock, log: EventLog, config: LinkConfig) -> None:
        self.identity = identity
        self.clock = clock
        self.log = log
        self.flood = FloodLimit(log, clock)
        self.config = config

    def hello(self) -> Hello:
        return Hello(self.identity)
