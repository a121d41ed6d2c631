"""Records of coordinators as Kafka writes them: a version in front of the key and of the value.

A key's version says what kind of record it is, a value's is that of its message. Kinds and versions
of a later release are told apart (`UnknownRecord`), so that loading can leave them alone.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from struct import Struct
from typing import Final

from barnabas_coordinator.shard.decision import Record
from barnabas_coordinator.shard.offset_layout import offset_bytes
from barnabas_core.ports.disk import Buffer
from barnabas_core.wire.codec import decoder, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from barnabas_core.wire.schema import Message

_VERSION: Final = Struct(">h")
_MESSAGES: Final = "barnabas_core.wire.messages"

GROUP_KINDS: Final = (
    "offset_commit",
    "group_metadata",
    "consumer_group_metadata",
    "consumer_group_partition_metadata",
    "consumer_group_member_metadata",
    "consumer_group_target_assignment_metadata",
    "consumer_group_target_assignment_member",
    "consumer_group_current_member_assignment",
    "consumer_group_regular_expression",
)
"""Modules of the messages, without `_key` and `_value`."""

Kinds = Mapping[int, tuple[type[Message], type[Message]]]
"""(class of the key, class of the value) by the number of the kind."""


class UnknownRecord(Exception):
    """Of a later release, or of a kind that is none of ours: to be left as it is."""


@lru_cache
def kinds_of(names: tuple[str, ...]) -> Kinds:
    found: dict[int, tuple[type[Message], type[Message]]] = {}
    for name in names:
        key, value = _class_of(f"{name}_key"), _class_of(f"{name}_value")
        assert key.KEY is not None
        found[key.KEY] = (key, value)
        if name == "offset_commit":
            # Kafka wrote them under two numbers, with the same key.
            found[0] = (key, value)
    return found


def _class_of(module: str) -> type[Message]:
    name = "".join(part.capitalize() for part in module.split("_"))
    found: type[Message] = getattr(import_module(f"{_MESSAGES}.{module}"), name)
    return found


def written_version(value: Message) -> int:
    """Of a value as Kafka 4.3 writes it: versions that older brokers can read, where they do."""
    if isinstance(value, OffsetCommitValue):
        # Only version 1 has a time of expiry, and that was all it was for.
        return value.MAX_VERSION if value.expire_timestamp == -1 else 1
    return 3 if isinstance(value, GroupMetadataValue) else type(value).MAX_VERSION


def encode_record(record: Record, value_version: int | None = None) -> tuple[bytes, bytes | None]:
    """(key, value); the value at the version that Kafka writes unless told otherwise."""
    if value_version is None and (quick := offset_bytes(*record)) is not None:
        return quick
    assert record.key.KEY is not None
    key = _VERSION.pack(record.key.KEY) + encode(record.key, 0)
    if record.value is None:
        return key, None
    version = written_version(record.value) if value_version is None else value_version
    return key, _VERSION.pack(version) + encode(record.value, version)


def decode_record(kinds: Kinds, key: Buffer, value: Buffer | None) -> Record:
    """`UnknownRecord`, or `DecodeError` for what is no such record at all."""
    key = bytes(key)
    kind = _version(key)
    found = kinds.get(kind)
    if found is None:
        raise UnknownRecord(f"kind {kind}")
    key_class, value_class = found
    decoded_key = _decode(key_class, 0, key)
    if value is None:
        return Record(decoded_key, None)
    value = bytes(value)
    version = _version(value)
    if version > value_class.MAX_VERSION:
        raise UnknownRecord(f"{value_class.__name__} v{version}")
    return Record(decoded_key, _decode(value_class, version, value))


def _version(buffer: bytes) -> int:
    if len(buffer) < _VERSION.size:
        raise DecodeError("a key or value without a version")
    found: int = _VERSION.unpack_from(buffer)[0]
    return found


def _decode(kind: type[Message], version: int, buffer: bytes) -> Message:
    """Behind its version. A shard is millions of them: nothing is copied or looked up twice."""
    message, end = decoder(kind, version)(buffer, _VERSION.size)
    if end != len(buffer):
        raise DecodeError(f"{len(buffer) - end} bytes behind {kind.__name__} v{version}")
    return message
