"""What a broker touches the world through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas_core.ports import Clock, Disk, Executor, Rng
from barnabas_core.ports.link import Links
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.server.dispatch import Handler
from barnabas_core.server.endpoint import Listener

if TYPE_CHECKING:
    from barnabas_core.runtime.metrics.registry import Registry


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    clock: Clock
    rng: Rng
    disk: Disk
    executor: Executor
    links: Links
    new_listener: Callable[[], Listener]
    log: EventLog
    intercept: Callable[[Handler], Handler] | None = None
    """What stands before each handler, if anything: the faults that a test asks for."""
    metrics: "Registry | None" = None
    """Where it says what it can tell; None: nothing is counted."""
    need_coordinator: Callable[[], None] = lambda: None
    """Called when there are shards to be leased: in one process, a coordinator is started then."""
