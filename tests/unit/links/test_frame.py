"""Frames as bytes: what was put in comes out, and nothing else is ever mistaken for a frame."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.links.frame import HEAD_BYTES_MAX, decode_frame, encode_frame
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
from barnabas_core.ports.link import Address, Call, Identity, Origin

COUNTS = st.integers(0, 2**64 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
BODY = st.binary(max_size=200)

HELLOS = st.builds(
    Hello, st.builds(Identity, TEXT, INT32, TEXT, st.binary(max_size=20)), st.integers(0, 2**32 - 1)
)
CALLS = st.builds(
    CallItem,
    COUNTS,
    st.builds(Call, INT32, INT32, BODY, st.builds(Origin, TEXT, TEXT, TEXT, TEXT)),
)
ADDRESSES = st.builds(Address, TEXT.filter(bool), st.integers(0, 65535))
REFUSALS = st.builds(
    Refusal,
    COUNTS,
    st.sampled_from(Reason),
    TEXT,
    st.none() | INT32,
    st.none() | ADDRESSES,
)
ITEMS = st.one_of(
    HELLOS,
    CALLS,
    st.builds(Answer, COUNTS, BODY),
    REFUSALS,
    st.builds(Push, st.integers(0, 2**32 - 1), BODY),
)
FRAMES = st.builds(Frame, COUNTS, COUNTS, st.lists(ITEMS, max_size=8).map(tuple))


def told(item: Item) -> tuple[object, ...]:
    """An item as something that compares by content."""
    if isinstance(item, Hello):
        return (item.identity, item.protocol_version)
    if isinstance(item, CallItem):
        call = item.call
        body = bytes(call.body)
        return (item.call_id, call.api_key, call.api_version, body, call.origin)
    if isinstance(item, Answer):
        return (item.call_id, bytes(item.body))
    if isinstance(item, Push):
        return (item.kind, bytes(item.body))
    return (item.call_id, item.reason, item.message, item.leader_id, item.leader_address)


@given(FRAMES)
def test_what_is_put_in_comes_out(frame: Frame) -> None:
    found = decode_frame(encode_frame(frame))

    assert found.received_frame_count == frame.received_frame_count
    assert found.handled_push_bytes == frame.handled_push_bytes
    assert list(map(type, found.items)) == list(map(type, frame.items))
    assert list(map(told, found.items)) == list(map(told, frame.items))


@given(FRAMES, st.data())
def test_a_frame_that_is_cut_short_or_too_long_is_none(frame: Frame, data: st.DataObject) -> None:
    whole = encode_frame(frame)
    cut = data.draw(st.integers(0, len(whole) - 1))

    for bad in (whole[:cut], whole + b"x"):
        with pytest.raises(BadFrame):
            decode_frame(bad)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_frame_or_a_bad_one(data: bytes) -> None:
    for candidate in (data, struct.pack(">I", len(data)) + data):
        with suppress(BadFrame):
            decode_frame(candidate)


@given(FRAMES, st.data())
def test_a_flipped_bit_is_at_worst_another_frame(frame: Frame, data: st.DataObject) -> None:
    damaged = bytearray(encode_frame(frame))
    bit = data.draw(st.integers(0, len(damaged) * 8 - 1))
    damaged[bit // 8] ^= 1 << bit % 8

    with suppress(BadFrame):
        decode_frame(bytes(damaged))


def test_payloads_are_views_of_what_arrived() -> None:
    arrived = encode_frame(Frame(0, 0, (Answer(1, b"one"), Push(2, b"two"))))

    bodies = [payload(item) for item in decode_frame(arrived).items]

    assert [bytes(body) for body in bodies] == [b"one", b"two"]
    assert all(isinstance(body, memoryview) and body.obj is arrived for body in bodies)


def test_views_and_bytearrays_go_out_as_they_are() -> None:
    frame = Frame(0, 0, (Answer(1, memoryview(b"xview")[1:]), Answer(2, bytearray(b"array"))))

    assert encode_frame(frame).endswith(b"viewarray")


def test_an_item_of_an_unknown_kind_is_refused() -> None:
    head = link_pb2.Head(items=[link_pb2.Item(call_id=3)]).SerializeToString()

    with pytest.raises(BadFrame, match="does not know"):
        decode_frame(struct.pack(">I", len(head)) + head)


def test_an_unknown_reason_is_read_as_a_plain_refusal() -> None:
    item = link_pb2.Item(call_id=3, refusal=link_pb2.Refusal(reason=77, message="because"))
    head = link_pb2.Head(items=[item]).SerializeToString()

    (refusal,) = decode_frame(struct.pack(">I", len(head)) + head).items

    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.message) == (Reason.REFUSED, "because")


def test_a_monstrous_head_is_not_parsed() -> None:
    size = HEAD_BYTES_MAX + 1

    with pytest.raises(BadFrame, match="head of"):
        decode_frame(struct.pack(">I", size) + bytes(size))


def test_payload_sizes_that_do_not_add_up_are_refused() -> None:
    item = link_pb2.Item(payload_bytes=2**64 - 1, answer=link_pb2.Answer())
    head = link_pb2.Head(items=[item]).SerializeToString()

    with pytest.raises(BadFrame, match="payloads end"):
        decode_frame(struct.pack(">I", len(head)) + head + b"abc")
