"""Protobuf values by a descriptor set, the output of `protoc --descriptor_set_out`.

Behind a registry's prefix the message is said by a list of indexes before the payload; the
descriptor is ours, so they are only skipped: later versions of a message read with any descriptor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from barnabas_pipeline.decode.registry import split_prefix
from barnabas_pipeline.decode.undecodable import Undecodable
from barnabas_pipeline.spec.model import TypeJson

_SIMPLE: Final[Mapping[int, str]] = {
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_INT64: "long",
    FieldDescriptor.CPPTYPE_UINT32: "long",
    FieldDescriptor.CPPTYPE_UINT64: "decimal(20,0)",
    FieldDescriptor.CPPTYPE_DOUBLE: "double",
    FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_ENUM: "string",
    FieldDescriptor.CPPTYPE_STRING: "string",
}
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_VARINT_BYTES_MAX: Final = 10


class UnknownMessage(ValueError):
    """The descriptor has no such message, or one without columns."""


@dataclass(frozen=True, slots=True)
class ProtobufDecoder:
    descriptor: bytes
    message: str
    has_prefix: bool

    def open(self) -> Callable[[bytes], dict[str, Any]]:
        message_class = message_factory.GetMessageClass(_find(self.descriptor, self.message))

        def decode(value: bytes) -> dict[str, Any]:
            start = _skip_indexes(value, split_prefix(value)[1]) if self.has_prefix else 0
            try:
                return _values(message_class.FromString(value[start:]))
            except (DecodeError, ValueError, OverflowError) as error:  # a moment beyond all years
                raise Undecodable(f"no {self.message}: {error}") from error

        return decode


def columns_of_message(descriptor: bytes, message: str) -> dict[str, Any]:
    """Spark's JSON of a message's columns."""
    return _struct(_find(descriptor, message), ())


def _find(descriptor: bytes, message: str) -> Descriptor:
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptor)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    try:
        return pool.FindMessageTypeByName(message)
    except KeyError:
        names = [f"{file.package}.{each.name}" for file in files.file for each in file.message_type]
        raise UnknownMessage(f"no message {message}; there is {', '.join(names)}") from None


def _struct(descriptor: Descriptor, outer: tuple[str, ...]) -> dict[str, Any]:
    if descriptor.full_name in outer:
        raise UnknownMessage(f"{descriptor.full_name} contains itself, which columns cannot")
    inner = (*outer, descriptor.full_name)
    fields = [
        {"name": field.name, "type": _type(field, inner), "nullable": True, "metadata": {}}
        for field in descriptor.fields
    ]
    return {"type": "struct", "fields": fields}


def _type(field: FieldDescriptor, outer: tuple[str, ...]) -> TypeJson:
    entry = _map_entry(field)
    if entry is not None:
        key, value = (entry.fields_by_name[name] for name in ("key", "value"))
        return {
            "type": "map",
            "keyType": _single_type(key, outer),
            "valueType": _single_type(value, outer),
            "valueContainsNull": True,
        }
    single = _single_type(field, outer)
    if field.is_repeated:
        return {"type": "array", "elementType": single, "containsNull": True}
    return single


def _single_type(field: FieldDescriptor, outer: tuple[str, ...]) -> TypeJson:
    if field.message_type is not None:
        is_moment = field.message_type.full_name == _TIMESTAMP
        return "timestamp" if is_moment else _struct(field.message_type, outer)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "binary"
    return _SIMPLE[field.cpp_type]


def _map_entry(field: FieldDescriptor) -> Descriptor | None:
    """The message that a map's entries are on the wire; None for other fields."""
    message = field.message_type
    return message if message is not None and message.GetOptions().map_entry else None


def _values(message: Message) -> dict[str, Any]:
    fields = cast("list[FieldDescriptor]", message.DESCRIPTOR.fields)
    return {field.name: _value(message, field) for field in fields}


def _value(message: Message, field: FieldDescriptor) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    entry = _map_entry(field)
    if entry is not None:
        inner = entry.fields_by_name["value"]
        return [(key, _single(value[key], inner)) for key in value]
    if field.is_repeated:
        return [_single(each, field) for each in value]
    return _single(value, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return value.ToDatetime()
        return _values(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else str(value)
    return value


def _skip_indexes(value: bytes, position: int) -> int:
    """A count and so many numbers, zigzag varints; a single 0 stands for the first message."""
    count, position = _varint(value, position)
    for _ in range(count):
        _, position = _varint(value, position)
    return position


def _varint(value: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    for place in range(position, min(position + _VARINT_BYTES_MAX, len(value))):
        number |= (value[place] & 0x7F) << shift
        shift += 7
        if not value[place] & 0x80:
            return (number >> 1) ^ -(number & 1), place + 1
    raise Undecodable("the message's indexes behind the registry's prefix are cut short")
