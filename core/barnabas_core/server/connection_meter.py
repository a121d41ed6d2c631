"""The connections of one listener: how many came, were turned away, and went, and why."""

from enum import Enum


class CloseReason(Enum):
    CLIENT = "client"
    IDLE = "idle"
    """`connections.max.idle.ms`."""
    BAD_REQUEST = "bad_request"
    """It does not speak the protocol, or asked for what is not served."""
    FAILED = "failed"
    """A defect of ours, or an answer that could not be read from disk to its end."""
    STALLED = "stalled"
    """It held memory that others waited for, and sent nothing."""
    SHUTDOWN = "shutdown"


class ConnectionMeter:
    __slots__ = ("accepted_count", "closed", "listener", "refused")

    def __init__(self, listener: str) -> None:
        self.listener = listener
        self.accepted_count = 0
        self.refused: dict[str, int] = {}
        self.closed: dict[CloseReason, int] = dict.fromkeys(CloseReason, 0)

    def on_refused(self, limit: str) -> None:
        self.refused[limit] = self.refused.get(limit, 0) + 1

    def on_closed(self, reason: CloseReason) -> None:
        self.closed[reason] += 1
