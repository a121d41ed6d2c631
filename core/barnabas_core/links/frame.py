"""The bytes of a frame: `u32 length of the head | head | payloads, one after the other`.

The head is a protobuf message. One join out, views in: protobuf copies `bytes` fields at a fiftieth
of the speed of a join. Whatever a peer sends ends in a `Frame` or in `BadFrame`.
"""

import struct
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from barnabas_core.links.item import (
    Answer,
    CallItem,
    Frame,
    Hello,
    Item,
    Push,
    Reason,
    Refusal,
    payload,
)
from barnabas_core.links.proto import link_pb2
from barnabas_core.links.stream import BadFrame
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import NO_ORIGIN, Address, Call, Identity, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct(">I")
HEAD_BYTES_MAX = 4 * 1024 * 1024
"""A frame holds a bounded number of items, so that no honest head comes near this."""


def encode_frame(frame: Frame) -> bytes:
    head = link_pb2.Head(
        received_frame_count=frame.received_frame_count,
        handled_push_bytes=frame.handled_push_bytes,
    )
    payloads: list[Buffer] = []
    for item in frame.items:
        body = payload(item)
        if body:
            payloads.append(body)
        entry = head.items.add(payload_bytes=len(body))
        _WRITERS[type(item)](entry, item)
    head_bytes = head.SerializeToString()
    return b"".join((_LENGTH.pack(len(head_bytes)), head_bytes, *payloads))


def decode_frame(buffer: Buffer) -> Frame:
    view = memoryview(buffer)
    if len(view) < _LENGTH.size:
        raise BadFrame(f"{len(view)} bytes are no frame")
    (head_bytes,) = _LENGTH.unpack_from(view)
    start = _LENGTH.size + head_bytes
    if head_bytes > HEAD_BYTES_MAX or start > len(view):
        raise BadFrame(f"a head of {head_bytes} bytes in a frame of {len(view)}")
    try:
        head = link_pb2.Head.FromString(bytes(view[_LENGTH.size : start]))
    except DecodeError as error:
        raise BadFrame(f"head: {error}") from error
    sizes = [entry.payload_bytes for entry in head.items]
    ends = list(accumulate(sizes, initial=start))
    if ends[-1] != len(view):
        raise BadFrame(f"payloads end at {ends[-1]}, the frame at {len(view)}")
    items = [
        _read(entry, view[end - size : end])
        for entry, size, end in zip(head.items, sizes, ends[1:], strict=True)
    ]
    return Frame(head.received_frame_count, head.handled_push_bytes, tuple(items))


def _read(entry: link_pb2.Item, body: memoryview) -> Item:
    kind = entry.WhichOneof("kind")
    reader = _READERS.get(kind) if kind is not None else None
    if reader is None:
        raise BadFrame("an item of a kind that this version does not know")
    return reader(entry, body)


def _write_hello(entry: link_pb2.Item, item: Hello) -> None:
    identity = item.identity
    entry.hello.protocol_version = item.protocol_version
    entry.hello.cluster_id = identity.cluster_id
    entry.hello.node_id = identity.node_id
    entry.hello.role = identity.role
    entry.hello.incarnation_id = identity.incarnation_id


def _read_hello(entry: link_pb2.Item, _: memoryview) -> Hello:
    hello = entry.hello
    identity = Identity(hello.cluster_id, hello.node_id, hello.role, hello.incarnation_id)
    return Hello(identity, hello.protocol_version)


def _write_call(entry: link_pb2.Item, item: CallItem) -> None:
    call = item.call
    entry.call_id = item.call_id
    entry.call.api_key = call.api_key
    entry.call.api_version = call.api_version
    if call.origin is not NO_ORIGIN:
        entry.call.principal = call.origin.principal
        entry.call.client_host = call.origin.client_host
        entry.call.client_id = call.origin.client_id
        entry.call.listener = call.origin.listener


def _read_call(entry: link_pb2.Item, body: memoryview) -> CallItem:
    call = entry.call
    origin = Origin(call.principal, call.client_host, call.client_id, call.listener)
    if origin == NO_ORIGIN:
        origin = NO_ORIGIN
    return CallItem(entry.call_id, Call(call.api_key, call.api_version, body, origin))


def _write_answer(entry: link_pb2.Item, item: Answer) -> None:
    entry.call_id = item.call_id
    entry.answer.SetInParent()


def _read_answer(entry: link_pb2.Item, body: memoryview) -> Answer:
    return Answer(entry.call_id, body)


def _write_refusal(entry: link_pb2.Item, item: Refusal) -> None:
    entry.call_id = item.call_id
    entry.refusal.reason = item.reason.value
    entry.refusal.message = item.message
    if item.leader_id is not None:
        entry.refusal.leader_id = item.leader_id
    if item.leader_address is not None:
        entry.refusal.leader_host, entry.refusal.leader_port = item.leader_address


def _read_refusal(entry: link_pb2.Item, _: memoryview) -> Refusal:
    refusal = entry.refusal
    try:
        reason = Reason(refusal.reason)
    except ValueError:
        reason = Reason.REFUSED  # a later version's reason: its message says more
    leader_id = refusal.leader_id if refusal.HasField("leader_id") else None
    host, port = refusal.leader_host, refusal.leader_port
    address = Address(host, port) if host else None
    return Refusal(entry.call_id, reason, refusal.message, leader_id, address)


def _write_push(entry: link_pb2.Item, item: Push) -> None:
    entry.push.kind = item.kind


def _read_push(entry: link_pb2.Item, body: memoryview) -> Push:
    return Push(entry.push.kind, body)


_WRITERS: "dict[type[Item], Callable[[link_pb2.Item, Any], None]]" = {
    Hello: _write_hello,
    CallItem: _write_call,
    Answer: _write_answer,
    Refusal: _write_refusal,
    Push: _write_push,
}
_READERS: "dict[str, Callable[[link_pb2.Item, memoryview], Item]]" = {
    "hello": _read_hello,
    "call": _read_call,
    "answer": _read_answer,
    "refusal": _read_refusal,
    "push": _read_push,
}
