"""What travels on a stream: items, and frames of them. Plain data; `frame` knows their bytes.

Items compare by identity: the same call sent twice is two items.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Busy,
    Call,
    CallFailed,
    CallRefused,
    Identity,
    LinkError,
    NotActive,
)

PROTOCOL_VERSION = 1
WHOLE_STREAM = 0
"""The call id of a refusal that is meant for the stream and not for a call."""


@dataclass(frozen=True, slots=True, eq=False)
class Hello:
    """The first item each way. The serving end waits for the caller's, and may refuse instead."""

    identity: Identity
    protocol_version: int = PROTOCOL_VERSION


@dataclass(frozen=True, slots=True, eq=False)
class CallItem:
    call_id: int
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    call_id: int
    body: Buffer


class Reason(Enum):
    """Why there is no answer; the numbers of the protocol."""

    REFUSED = 0
    BUSY = 1
    NOT_ACTIVE = 2
    FAILED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    call_id: int
    reason: Reason
    message: str = ""
    leader_id: int | None = None
    leader_address: Address | None = None

    @classmethod
    def of(cls, call_id: int, error: CallRefused) -> "Refusal":
        if isinstance(error, NotActive):
            return cls(call_id, Reason.NOT_ACTIVE, "", error.leader_id, error.address)
        reason = Reason.BUSY if isinstance(error, Busy) else Reason.REFUSED
        return cls(call_id, reason, str(error))

    def error(self) -> LinkError:
        """What the caller's call raises."""
        if self.reason is Reason.NOT_ACTIVE:
            return NotActive(self.leader_id, self.leader_address)
        if self.reason is Reason.BUSY:
            return Busy(self.message)
        if self.reason is Reason.FAILED:
            return CallFailed(self.message)
        return CallRefused(self.message)


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    kind: int
    body: Buffer


Item: TypeAlias = Hello | CallItem | Answer | Refusal | Push


@dataclass(frozen=True, slots=True)
class Frame:
    """What goes out at once. One without items is a ping, or only says what was received."""

    received_frame_count: int
    """Frames with items that its sender has received so far."""
    handled_push_bytes: int
    """Bytes of pushes that its sender's application has dealt with so far."""
    items: tuple[Item, ...] = ()


def payload(item: Item) -> Buffer:
    if isinstance(item, CallItem):
        return item.call.body
    if isinstance(item, Answer | Push):
        return item.body
    return b""


_ITEM_OVERHEAD_BYTES = 64


def item_bytes(item: Item) -> int:
    """About what the item takes in a frame: enough to bound frames and queues by."""
    size = _ITEM_OVERHEAD_BYTES + len(payload(item))
    if isinstance(item, CallItem):
        origin = item.call.origin
        # Up to four bytes a character would be exact; nothing depends on exactness.
        size += len(origin.principal) + len(origin.client_host)
        size += len(origin.client_id) + len(origin.listener)
    return size
