"""One member of a classic group, with the request of its that waits for the others."""

from dataclasses import dataclass
from typing import NamedTuple

Protocols = tuple[tuple[str, bytes], ...]
"""(name, metadata), the one that is liked best first."""


class Parked(NamedTuple):
    """A request that is answered later, by another decision."""

    call: int
    api_version: int


@dataclass(slots=True)
class ClassicMember:
    member_id: str
    group_instance_id: str | None
    """Of a static member (KIP-345): it keeps its place while it is away, until its session ends."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    join: Parked | None = None
    """The JoinGroup that waits, one at most: a retry takes the place of what it retries. A closed
    connection does not end the wait: the member did join, and may come back to ask again."""
    sync: Parked | None = None
    """The SyncGroup that waits, likewise."""
    is_new: bool = False
    """It never was in a generation: it may not know its id yet, and cannot send heartbeats."""

    def metadata(self, protocol_name: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def protocol_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.protocols))

    def vote(self, candidates: frozenset[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)

    def needs_no_heartbeat(self) -> bool:
        """It waits for an answer of ours. New ones are timed all the same: who gave up waiting
        comes back with another id, and would leave one member behind each time."""
        return not self.is_new and (self.join is not None or self.sync is not None)
