"""A message with a field of every kind, and the descriptor set that protoc would write of it."""

from datetime import datetime
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field


def descriptor_set() -> bytes:
    """What protoc writes of an `orders.Order` with a field of every kind."""
    moment = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(moment)
    file = descriptor_pb2.FileDescriptorProto(
        name="orders.proto", package="orders", syntax="proto3", dependency=[moment.name]
    )
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT64, label=Field.LABEL_OPTIONAL)
    kind = order.enum_type.add(name="Kind")
    kind.value.add(name="SALE", number=0)
    kind.value.add(name="REFUND", number=1)

    def add(
        number: int, name: str, kind: "Field.Type.ValueType", type_name: str | None = None
    ) -> None:
        label = Field.LABEL_REPEATED if name in ("lines", "tags") else Field.LABEL_OPTIONAL
        order.field.add(name=name, number=number, type=kind, label=label, type_name=type_name)

    add(1, "id", Field.TYPE_INT64)
    add(2, "kind", Field.TYPE_ENUM, ".orders.Order.Kind")
    add(3, "lines", Field.TYPE_DOUBLE)
    add(4, "tags", Field.TYPE_MESSAGE, ".orders.Order.TagsEntry")
    add(5, "at", Field.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    add(6, "raw", Field.TYPE_BYTES)
    return descriptor_pb2.FileDescriptorSet(file=[moment, file]).SerializeToString()


DESCRIPTOR = descriptor_set()


def order_bytes() -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTOR).file:
        pool.Add(file)
    order: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("orders.Order"))()
    order.id, order.kind, order.raw = 7, 1, b"r"
    order.lines.extend([0.5, 1.5])
    order.tags["a"] = 1
    order.at.FromDatetime(datetime(2026, 11, 17, 8))  # noqa: DTZ001 - as the class gives it back
    encoded: bytes = order.SerializeToString()
    return encoded
