"""What travels between the owner of a shard, a broker, and the coordinator that computes for it.

The broker calls with a `Feed`: many items for many sessions, in order. The coordinator pushes
`Outcome`s and the end of sessions. Laid out by hand: the parts of one process need no protobuf.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from barnabas_core.ports.disk import Buffer

FEED: Final = 1
"""The api key of the only call."""
VERSION: Final = 0
OUTCOME_PUSH: Final = 1
ENDED_PUSH: Final = 2
LOADED_PUSH: Final = 3

_ITEM: Final = Struct(">BII")  # kind, session, bytes that follow
_OPEN: Final = Struct(">iiqqq")
_REQUEST: Final = Struct(">Ihhq")
_NUMBER: Final = Struct(">q")
_SIZE: Final = Struct(">I")
_OUTCOME: Final = Struct(">IqII")  # session, base offset, bytes of batches, answers
_ANSWER: Final = Struct(">IqhI")  # correlation, depends on, error code, bytes


class BadShardMessage(Exception):
    """Not what the protocol says: the stream is ended."""


class Open(NamedTuple):
    """A session begins; the shard's records follow, up to `log_end`."""

    session: int
    partition: int
    leader_epoch: int
    log_end: int
    high_watermark: int
    metadata_offset: int
    """What the owner has seen: with less a coordinator would take topics for deleted."""


class Load(NamedTuple):
    """Batches of the shard's log, the next ones; the last may be cut."""

    session: int
    batches: Buffer


class ShardRequest(NamedTuple):
    session: int
    correlation: int
    api_key: int
    api_version: int
    metadata_offset: int
    """What the client may have seen: the coordinator waits until it has seen it, too."""
    client_id: str
    client_host: str
    principal: str
    listener: str
    body: Buffer


class Lost(NamedTuple):
    """Nobody waits for that answer any more."""

    session: int
    correlation: int


class Committed(NamedTuple):
    session: int
    high_watermark: int


class Close(NamedTuple):
    session: int


class Writable(NamedTuple):
    """Whether as many replicas are in sync as must be; so it is when a session begins.

    While they are not, what would write is refused; what is under way is appended, and waits.
    """

    session: int
    is_writable: bool


class Epoch(NamedTuple):
    """The same broker leads the partition in another epoch: nothing is loaded anew."""

    session: int
    leader_epoch: int


Item: TypeAlias = Open | Load | ShardRequest | Lost | Committed | Close | Writable | Epoch
_KINDS: Final[tuple[type[Item], ...]] = (
    Open,
    Load,
    ShardRequest,
    Lost,
    Committed,
    Close,
    Writable,
    Epoch,
)
_NUMBERED: Final[dict[type[Item], Callable[[int, int], Item]]] = {
    Lost: Lost,
    Committed: Committed,
    Epoch: Epoch,
}


class ShardAnswer(NamedTuple):
    """To be given when everything up to the offset `depends_on` is committed; -1: at once."""

    correlation: int
    depends_on: int
    body: Buffer
    error_code: int = 0
    """Not 0: the request was not decided, for this reason, and there is no body."""


class Outcome(NamedTuple):
    """Batches to be appended at `base_offset`, nowhere else, and answers."""

    session: int
    base_offset: int
    batches: Buffer
    answers: Sequence[ShardAnswer]


def encode_feed(items: Iterable[Item]) -> bytes:
    parts: list[Buffer] = []
    for item in items:
        body = _body(item)
        size = sum(map(len, body))
        parts.append(_ITEM.pack(_KINDS.index(type(item)), item.session, size))
        parts += body
    return b"".join(parts)


def _body(item: Item) -> list[Buffer]:
    if isinstance(item, Open):
        return [_OPEN.pack(*item[1:])]
    if isinstance(item, Load):
        return [item.batches]
    if isinstance(item, ShardRequest):
        head = _REQUEST.pack(*item[1:5])
        return [head, *map(_text, item[5:9]), item.body]
    if isinstance(item, Close):
        return []
    return [_NUMBER.pack(item[1])]


def decode_feed(body: Buffer) -> list[Item]:
    view = memoryview(body)
    items: list[Item] = []
    position = 0
    try:
        while position < len(view):
            kind, session, size = _ITEM.unpack_from(view, position)
            start = position + _ITEM.size
            position = start + size
            if position > len(view):
                raise BadShardMessage(f"an item of {size} bytes, {len(view) - start} are left")
            items.append(_item(_KINDS[kind], session, view[start:position]))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadShardMessage(str(error)) from error
    return items


def _item(kind: type[Item], session: int, body: memoryview) -> Item:
    if kind is Open:
        return Open(session, *_OPEN.unpack(body))
    if kind is Load:
        return Load(session, body)
    if kind is ShardRequest:
        return _request(session, body)
    if kind is Close:
        return Close(session)
    number = _NUMBER.unpack(body)[0]
    if kind is Writable:
        return Writable(session, bool(number))
    return _NUMBERED[kind](session, number)


def _request(session: int, body: memoryview) -> ShardRequest:
    correlation, api_key, version, metadata_offset = _REQUEST.unpack_from(body)
    position = _REQUEST.size
    texts = []
    for _ in range(4):
        (size,) = _SIZE.unpack_from(body, position)
        position += _SIZE.size
        texts.append(bytes(body[position : position + size]).decode())
        position += size
    client_id, client_host, principal, listener = texts
    return ShardRequest(
        session, correlation, api_key, version, metadata_offset,
        client_id, client_host, principal, listener, body[position:],
    )  # fmt: skip


def _text(text: str) -> bytes:
    data = text.encode()
    return _SIZE.pack(len(data)) + data


def encode_outcome(outcome: Outcome) -> bytes:
    head = _OUTCOME.pack(
        outcome.session, outcome.base_offset, len(outcome.batches), len(outcome.answers)
    )
    parts: list[Buffer] = [head, outcome.batches]
    for answer in outcome.answers:
        correlation, depends_on, answered, error_code = answer
        parts.append(_ANSWER.pack(correlation, depends_on, error_code, len(answered)))
        parts.append(answered)
    return b"".join(parts)


def decode_outcome(body: Buffer) -> Outcome:
    view = memoryview(body)
    try:
        session, base_offset, size, count = _OUTCOME.unpack_from(view)
        position = _OUTCOME.size + size
        batches = view[_OUTCOME.size : position]
        answers = []
        for _ in range(count):
            correlation, depends_on, error_code, length = _ANSWER.unpack_from(view, position)
            start = position + _ANSWER.size
            position = start + length
            answered = view[start:position]
            answers.append(ShardAnswer(correlation, depends_on, answered, error_code))
    except struct.error as error:
        raise BadShardMessage(str(error)) from error
    if position != len(view) or len(batches) != size:
        raise BadShardMessage(f"an outcome of {len(view)} bytes that says it has {position}")
    return Outcome(session, base_offset, batches, answers)


def encode_session(session: int) -> bytes:
    return _SIZE.pack(session)


def decode_session(body: Buffer) -> int:
    if len(body) != _SIZE.size:
        raise BadShardMessage(f"{len(body)} bytes are no session")
    return int(_SIZE.unpack(body)[0])
