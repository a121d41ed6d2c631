"""What coordinators say of themselves to the active controller, and what it tells brokers of them.

A coordinator calls on Membership: `REGISTER` once, `HEARTBEAT` again and again. Who it is (role,
node id, incarnation) is known from the stream. The controller pushes the list of those that live
to every broker. Kafka has no such messages, and none of this is ever in the metadata log; laid out
by hand, as what travels between shards and coordinators is.
"""

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar

from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address

# Besides Kafka's own api keys on the same stream, out of their way.
REGISTER: Final = 10_001
HEARTBEAT: Final = 10_002
VERSION: Final = 0
LIVE_PUSH: Final = 1

GROUP: Final = "group"
ROLES: Final = (GROUP, "transaction", "share")

_SIZE: Final = Struct(">H")
_PORT: Final = Struct(">H")
_RANGE: Final = Struct(">hhh")  # api key, lowest and highest version
_BEAT: Final = Struct(">I?")  # sessions, is draining
_ANSWER: Final = Struct(">B?")  # standing, is alone
_LIVE: Final = Struct(">iq?I")  # epoch, version, is partial, coordinators
_MEMBER: Final = Struct(">i16s?")  # node id, incarnation, is draining
_NO_RACK: Final = 0xFFFF
T = TypeVar("T")


class BadCoordinatorMessage(Exception):
    """Not what the layout says."""


class ApiRange(NamedTuple):
    api_key: int
    min_version: int
    max_version: int


class Registration(NamedTuple):
    """What others have to know of a coordinator besides who it is."""

    address: Address
    """Where brokers reach it."""
    rack: str | None
    apis: tuple[ApiRange, ...]
    """What it decides about."""


class Heartbeat(NamedTuple):
    session_count: int
    is_draining: bool = False
    """It is on its way out: whoever has a session with it is to take it elsewhere."""


class Standing(IntEnum):
    """How the active controller sees a coordinator."""

    LIVE = 0
    UNKNOWN = 1
    """It has to register (again)."""
    DUPLICATE = 2
    """Another process lives under its role and node id."""


class Verdict(NamedTuple):
    """The answer to both calls."""

    standing: Standing
    is_alone: bool
    """Nobody else of its role could take over what it does."""


class LiveCoordinator(NamedTuple):
    role: str
    node_id: int
    incarnation_id: bytes
    address: Address
    rack: str | None = None
    is_draining: bool = False
    apis: tuple[ApiRange, ...] = ()


class LiveList(NamedTuple):
    """Stamped: one with a higher (epoch, version) is newer, whichever way it came."""

    controller_epoch: int
    version: int
    is_partial: bool
    """The controller is new, and may not have heard of all of them: absence means nothing."""
    coordinators: tuple[LiveCoordinator, ...]

    @property
    def stamp(self) -> tuple[int, int]:
        return self.controller_epoch, self.version


def encode_registration(it: Registration, heartbeat: Heartbeat) -> bytes:
    """The first heartbeat comes with it."""
    return b"".join([_BEAT.pack(*heartbeat), _place(it.address, it.rack), _apis(it.apis)])


def decode_registration(body: Buffer) -> tuple[Registration, Heartbeat]:
    def read(reader: _Reader) -> tuple[Registration, Heartbeat]:
        heartbeat = Heartbeat(*reader.unpack(_BEAT))
        address, rack = reader.place()
        return Registration(address, rack, reader.apis()), heartbeat

    return _read(body, read)


def encode_heartbeat(heartbeat: Heartbeat) -> bytes:
    return _BEAT.pack(*heartbeat)


def decode_heartbeat(body: Buffer) -> Heartbeat:
    return _read(body, lambda reader: Heartbeat(*reader.unpack(_BEAT)))


def encode_verdict(verdict: Verdict) -> bytes:
    return _ANSWER.pack(*verdict)


def decode_verdict(body: Buffer) -> Verdict:
    def read(reader: _Reader) -> Verdict:
        standing, is_alone = reader.unpack(_ANSWER)
        return Verdict(Standing(standing), is_alone)

    return _read(body, read)


def encode_live(live: LiveList) -> bytes:
    head = _LIVE.pack(*live.stamp, live.is_partial, len(live.coordinators))
    return b"".join([head, *map(_member, live.coordinators)])


def decode_live(body: Buffer) -> LiveList:
    def read(reader: _Reader) -> LiveList:
        epoch, version, is_partial, count = reader.unpack(_LIVE)
        members = tuple(reader.member() for _ in range(count))
        return LiveList(epoch, version, is_partial, members)

    return _read(body, read)


def _member(one: LiveCoordinator) -> bytes:
    head = _MEMBER.pack(one.node_id, one.incarnation_id, one.is_draining)
    return b"".join([head, _text(one.role), _place(one.address, one.rack), _apis(one.apis)])


def _place(address: Address, rack: str | None) -> bytes:
    told_rack = _SIZE.pack(_NO_RACK) if rack is None else _text(rack)
    return _text(address.host) + _PORT.pack(address.port) + told_rack


def _apis(apis: Sequence[ApiRange]) -> bytes:
    return b"".join([_SIZE.pack(len(apis)), *(_RANGE.pack(*one) for one in apis)])


def _text(text: str) -> bytes:
    data = text.encode()
    return _SIZE.pack(len(data)) + data


class _Reader:
    def __init__(self, body: Buffer) -> None:
        self._view = memoryview(body)
        self._position = 0

    @property
    def left(self) -> int:
        return len(self._view) - self._position

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        fields = layout.unpack_from(self._view, self._position)
        self._position += layout.size
        return fields

    def text(self, size: int | None = None) -> str:
        if size is None:
            (size,) = self.unpack(_SIZE)
        if size > self.left:
            raise BadCoordinatorMessage(f"a text of {size} bytes, {self.left} are left")
        end = self._position + size
        text = bytes(self._view[self._position : end]).decode()
        self._position = end
        return text

    def place(self) -> tuple[Address, str | None]:
        address = Address(self.text(), self.unpack(_PORT)[0])
        (size,) = self.unpack(_SIZE)
        return address, None if size == _NO_RACK else self.text(size)

    def apis(self) -> tuple[ApiRange, ...]:
        (count,) = self.unpack(_SIZE)
        return tuple(ApiRange(*self.unpack(_RANGE)) for _ in range(count))

    def member(self) -> LiveCoordinator:
        node_id, incarnation_id, is_draining = self.unpack(_MEMBER)
        role = self.text()
        address, rack = self.place()
        return LiveCoordinator(
            role, node_id, incarnation_id, address, rack, is_draining, self.apis()
        )


def _read(body: Buffer, read: Callable[[_Reader], T]) -> T:
    reader = _Reader(body)
    try:
        found = read(reader)
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise BadCoordinatorMessage(str(error)) from error
    if reader.left:
        raise BadCoordinatorMessage(f"{reader.left} bytes too many")
    return found
