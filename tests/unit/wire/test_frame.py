"""Headers around messages."""

import struct

import pytest

from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error import (
    BadUtf8,
    LengthBeyondBuffer,
    TrailingBytes,
    Underflow,
    UnknownMessage,
    UnknownVersion,
)
from barnabas_core.wire.frame import (
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.request_header import RequestHeader
from barnabas_core.wire.schema import Part


def whole(parts: list[Part]) -> bytes:
    return b"".join(bytes(part) for part in parts if isinstance(part, bytes | memoryview))


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("client_id", [None, "", "bench"])
def test_a_request_survives_with_its_header(version: int, client_id: str | None) -> None:
    message = HeartbeatRequest("orders", 5, "member")

    frame = whole(encode_request(message, version, 77, client_id))

    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    header, decoded = decode_request(frame[4:])
    assert header == RequestHeader(ApiKey.HEARTBEAT, version, 77, client_id)
    assert decoded == message


@pytest.mark.parametrize("version", range(5))
def test_a_response_survives_with_its_header(version: int) -> None:
    message = HeartbeatResponse(error_code=27)

    frame = whole(encode_response(message, version, 77))

    assert struct.unpack_from(">ii", frame) == (len(frame) - 4, 77)
    header, decoded = decode_response(HeartbeatResponse, version, frame[4:])
    assert header.correlation_id == 77
    assert decoded == message


@pytest.mark.parametrize("version", range(6))
def test_the_answer_to_api_versions_never_has_tags_in_its_header(version: int) -> None:
    message = ApiVersionsResponse()

    frame = whole(encode_response(message, version, 1))

    assert frame[8:] == encode(message, version)


def test_the_client_id_is_never_compact() -> None:
    frame = whole(encode_request(ApiVersionsRequest(), 3, 1, "abc"))

    assert frame[4:18] == b"\0\x12\0\3\0\0\0\1\0\3abc\0"


def test_a_header_at_a_version_that_is_not_served_is_read() -> None:
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 7, -1) + b"\0whatever"

    header, position = decode_request_header(frame)

    assert (header.request_api_version, header.correlation_id) == (99, 7)
    assert frame[position:] == b"whatever"
    with pytest.raises(UnknownVersion):
        decode_request(frame)


def test_tags_in_a_header_are_kept() -> None:
    frame = struct.pack(">hhih", ApiKey.HEARTBEAT, 4, 7, -1) + b"\1\5\3abc"

    header, position = decode_request_header(frame)

    assert header.unknown_tags == ((5, b"abc"),)
    assert position == len(frame)


def test_records_in_a_frame_are_views_of_it() -> None:
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, memoryview(b"records"))])
    parts = encode_request(ProduceRequest(topic_data=[topic]), 9, 1)
    frame = bytearray(whole(parts))[4:]

    _, decoded = decode_request(frame)
    frame[:] = frame.replace(b"records", b"RECORDS")

    assert isinstance(decoded, ProduceRequest)
    assert decoded.topic_data[0].partition_data[0].records == b"RECORDS"


def test_an_api_that_does_not_exist_is_refused() -> None:
    for key in (-1, 4, 95, 32767):  # 4 was LeaderAndIsr, before 4.0
        with pytest.raises(UnknownMessage):
            decode_request_header(struct.pack(">hhih", key, 0, 0, -1))


def test_a_frame_that_is_too_short_is_refused() -> None:
    frame = whole(encode_request(HeartbeatRequest("orders"), 4, 1, "me"))[4:]

    for size in range(len(frame)):
        with pytest.raises(Underflow):
            decode_request(frame[:size])


def test_a_frame_that_is_too_long_is_refused() -> None:
    frame = whole(encode_request(HeartbeatRequest("orders"), 4, 1, "me"))[4:]

    with pytest.raises(TrailingBytes):
        decode_request(frame + b"\0")


def test_a_client_id_that_is_broken_is_refused() -> None:
    start = struct.pack(">hhi", ApiKey.HEARTBEAT, 3, 1)

    with pytest.raises(BadUtf8):
        decode_request_header(start + b"\0\1\xff")
    with pytest.raises(LengthBeyondBuffer):
        decode_request_header(memoryview(start + b"\0\2a"))


def test_every_api_has_its_two_messages_at_its_versions() -> None:
    for api in API_BY_KEY.values():
        for message in (api.request, api.response):
            versions = (message.MIN_VERSION, message.MAX_VERSION, message.FLEXIBLE_FROM)
            assert api.key == message.KEY
            assert versions == (api.min_version, api.max_unstable_version, api.flexible_from)
