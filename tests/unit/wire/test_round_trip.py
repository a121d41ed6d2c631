"""Random messages survive the wire, and whatever else comes in is refused by one kind of error."""

import random

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.wire.codec import decode, encode, encode_parts
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.frame import decode_request, decode_request_header
from barnabas_core.wire.schema import Message
from tests.support.wire_message import message_versions, messages

PAIRS = message_versions()
FLEXIBLE = [(message, version) for message, version in PAIRS if version >= message.FLEXIBLE_FROM]


@given(data=st.data(), pair=st.sampled_from(PAIRS))
def test_what_is_encoded_decodes_to_the_same_message(
    data: st.DataObject, pair: tuple[type[Message], int]
) -> None:
    kind, version = pair
    message = data.draw(messages(kind, version))
    assert isinstance(message, Message)

    encoded = encode(message, version)

    decoded = decode(kind, version, encoded)
    assert decoded == message
    assert encode(decoded, version) == encoded


@given(data=st.data(), pair=st.sampled_from(PAIRS))
def test_the_parts_are_the_encoded_bytes_in_order(
    data: st.DataObject, pair: tuple[type[Message], int]
) -> None:
    kind, version = pair
    message = data.draw(messages(kind, version))
    assert isinstance(message, Message)

    parts = encode_parts(message, version)

    assert all(isinstance(part, bytes) for part in parts)
    assert b"".join(bytes(part) for part in parts if isinstance(part, bytes)) == encode(
        message, version
    )


@given(pair=st.sampled_from(FLEXIBLE), tags=st.dictionaries(st.integers(100, 2**31), st.binary()))
def test_unknown_tags_survive(pair: tuple[type[Message], int], tags: dict[int, bytes]) -> None:
    kind, version = pair
    message = kind(unknown_tags=tuple(sorted(tags.items())))  # type: ignore[call-arg]

    assert decode(kind, version, encode(message, version)) == message


@given(pair=st.sampled_from(PAIRS), buffer=st.binary(max_size=300))
def test_random_bytes_decode_or_are_refused(pair: tuple[type[Message], int], buffer: bytes) -> None:
    kind, version = pair
    try:
        message = decode(kind, version, buffer)
    except DecodeError:
        return
    assert isinstance(message, kind)


@given(data=st.data(), pair=st.sampled_from(PAIRS), seed=st.integers(0, 2**32))
def test_damaged_messages_decode_or_are_refused(
    data: st.DataObject, pair: tuple[type[Message], int], seed: int
) -> None:
    kind, version = pair
    message = data.draw(messages(kind, version))
    assert isinstance(message, Message)
    encoded = encode(message, version)

    for damaged in _damaged(encoded, random.Random(seed)):
        try:
            decode(kind, version, damaged)
        except DecodeError:
            continue


@given(data=st.data(), pair=st.sampled_from(PAIRS))
def test_a_message_that_is_cut_short_is_never_accepted(
    data: st.DataObject, pair: tuple[type[Message], int]
) -> None:
    kind, version = pair
    message = data.draw(messages(kind, version))
    assert isinstance(message, Message)
    encoded = encode(message, version)

    for size in sorted({0, 1, len(encoded) // 2, len(encoded) - 1} - {-1}):
        if size >= len(encoded):
            continue
        try:
            decoded = decode(kind, version, encoded[:size])
        except DecodeError:
            continue
        raise AssertionError(f"{size} of {len(encoded)} bytes decoded to {decoded}")


@given(frame=st.binary(max_size=100))
def test_random_frames_decode_or_are_refused(frame: bytes) -> None:
    try:
        header, position = decode_request_header(frame)
        assert position <= len(frame)
        assert header.request_api_key >= 0
        decode_request(frame)
    except DecodeError:
        return


def _damaged(encoded: bytes, rng: random.Random) -> list[bytes]:
    """Some bytes changed, a piece missing, a piece twice."""
    out = []
    for _ in range(5):
        changed = bytearray(encoded)
        for _ in range(rng.randint(1, 3)):
            if changed:
                position = rng.randrange(len(changed))
                changed[position] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        first, last = sorted(rng.randrange(len(encoded) + 1) for _ in range(2))
        out += [bytes(changed), encoded[:first] + encoded[last:], encoded[:last] + encoded[first:]]
    return out
