"""What travels between a follower and a leader, as bytes.

A follower makes one kind of call, an `Update`: which partitions it wants from which offset on,
which no more, and how far its logs are. The answer says of each new subscription if it stands.
The leader pushes two kinds of things: `STATE_PUSH`, high watermarks and log starts of many
partitions, and records, raw, as a push whose kind is the number of the subscription.

Fixed layouts, packed by hand: this is on the way of every record, and the parts of one process must
not need protobuf for it.
"""

import struct
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from barnabas_core.ports.disk import Buffer

UPDATE: Final = 1
"""The api key of the only call."""
VERSION: Final = 0
STATE_PUSH: Final = 0
FIRST_SUBSCRIPTION: Final = 1

_HEAD: Final = Struct(">qIII")
_SUBSCRIBE: Final = Struct(">I16siiqi")
_CANCEL: Final = Struct(">I")
_ACK: Final = Struct(">Iqq")
_RESULT: Final = Struct(">Ihiqqq")
_STATE: Final = Struct(">Iqq")


class BadMessage(Exception):
    """Not what the protocol says: the call is refused, or the stream ended."""


class Subscribe(NamedTuple):
    """`leader_epoch` is the one that the follower knows; `last_epoch` that of its last record."""

    subscription: int
    topic_id: bytes
    partition: int
    leader_epoch: int
    offset: int
    last_epoch: int


class Ack(NamedTuple):
    """From where to where the follower's log goes."""

    subscription: int
    end_offset: int
    log_start: int


class Update(NamedTuple):
    broker_epoch: int
    subscribe: Sequence[Subscribe] = ()
    cancel: Sequence[int] = ()
    acks: Sequence[Ack] = ()


class Subscribed(NamedTuple):
    """An error, or where the follower's log parts from the leader's, or neither."""

    subscription: int
    error_code: int
    diverging_epoch: int = -1
    diverging_end: int = -1
    log_start: int = -1
    log_end: int = -1


class State(NamedTuple):
    subscription: int
    high_watermark: int
    log_start: int


def encode_update(update: Update) -> bytes:
    head = _HEAD.pack(
        update.broker_epoch, len(update.subscribe), len(update.cancel), len(update.acks)
    )
    parts = [head]
    parts += [_SUBSCRIBE.pack(*one) for one in update.subscribe]
    parts += [_CANCEL.pack(one) for one in update.cancel]
    parts += [_ACK.pack(*one) for one in update.acks]
    return b"".join(parts)


def decode_update(body: Buffer) -> Update:
    view = memoryview(body)
    try:
        broker_epoch, subscribe_count, cancel_count, ack_count = _HEAD.unpack_from(view)
    except struct.error as error:
        raise BadMessage(f"an update of {len(view)} bytes") from error
    first = _HEAD.size
    second = first + subscribe_count * _SUBSCRIBE.size
    third = second + cancel_count * _CANCEL.size
    end = third + ack_count * _ACK.size
    if end != len(view):
        raise BadMessage(f"an update of {len(view)} bytes that says it has {end}")
    return Update(
        broker_epoch,
        [Subscribe(*one) for one in _SUBSCRIBE.iter_unpack(view[first:second])],
        [one for (one,) in _CANCEL.iter_unpack(view[second:third])],
        [Ack(*one) for one in _ACK.iter_unpack(view[third:end])],
    )


def encode_results(results: Iterable[Subscribed]) -> bytes:
    return b"".join([_RESULT.pack(*one) for one in results])


def decode_results(body: Buffer) -> list[Subscribed]:
    return [Subscribed(*one) for one in _unpacked(_RESULT, body)]


def encode_states(states: Iterable[State]) -> bytes:
    return b"".join([_STATE.pack(*one) for one in states])


def decode_states(body: Buffer) -> list[State]:
    return [State(*one) for one in _unpacked(_STATE, body)]


def _unpacked(layout: Struct, body: Buffer) -> Iterable[tuple[int, ...]]:
    if len(body) % layout.size:
        raise BadMessage(f"{len(body)} bytes are no multiple of {layout.size}")
    return layout.iter_unpack(body)
