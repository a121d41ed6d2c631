"""What a decoder refuses, and by which error; what it hands out."""

import struct
import tracemalloc

import pytest

from barnabas_core.wire.codec import decode, decoder, encode
from barnabas_core.wire.error import (
    BadTag,
    BadUtf8,
    BadVarint,
    DecodeError,
    LengthBeyondBuffer,
    LengthTooLarge,
    NegativeLength,
    TooManyElements,
    TrailingBytes,
    Underflow,
    UnexpectedNull,
    UnknownVersion,
)
from barnabas_core.wire.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.list_transactions_request import ListTransactionsRequest
from barnabas_core.wire.messages.metadata_request import MetadataRequest
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from barnabas_core.wire.messages.vote_response import VoteResponse
from barnabas_core.wire.schema import Message
from tests.support.wire_message import message_versions

HEARTBEAT = HeartbeatRequest("group", 3, "member", None)
FLEXIBLE = encode(HEARTBEAT, 4)
OLD = encode(HEARTBEAT, 3)
LARGEST_UVARINT = b"\xff\xff\xff\xff\x0f"
# The header of a FetchResponse that comes before its array of topics, and that array's end.
FETCHED = bytes(10)


def refused(error: type[DecodeError], message: type[Message], version: int, buffer: bytes) -> None:
    """Of exactly this type: a broader error would hide what was wrong."""
    with pytest.raises(DecodeError) as caught:
        decode(message, version, buffer)
    assert type(caught.value) is error, caught.value


def test_a_buffer_that_ends_in_a_number_underflows() -> None:
    refused(Underflow, HeartbeatRequest, 4, FLEXIBLE[:8])


def test_an_empty_buffer_underflows() -> None:
    refused(Underflow, HeartbeatRequest, 4, b"")
    refused(Underflow, HeartbeatRequest, 3, b"")


def test_a_string_longer_than_the_buffer_is_refused() -> None:
    refused(LengthBeyondBuffer, HeartbeatRequest, 4, b"\x20group")
    refused(LengthBeyondBuffer, HeartbeatRequest, 3, b"\0\x20group")


def test_a_last_field_longer_than_the_buffer_is_refused() -> None:
    # Nothing is read behind it, so only the last position tells.
    refused(LengthBeyondBuffer, SaslAuthenticateRequest, 0, struct.pack(">i", 5) + b"four")


def test_text_that_is_cut_in_a_character_is_short_and_not_bad() -> None:
    refused(LengthBeyondBuffer, HeartbeatRequest, 3, b"\0\x08" + "déjà vu".encode()[:2])


def test_records_longer_than_the_buffer_are_refused() -> None:
    topic = TopicProduceData(topic_id=bytes(16), partition_data=[PartitionProduceData(0, b"1234")])
    encoded = encode(ProduceRequest(topic_data=[topic]), 13)

    refused(LengthBeyondBuffer, ProduceRequest, 13, encoded.replace(b"\x051234", b"\x551234"))


def test_a_length_below_minus_one_is_refused() -> None:
    refused(NegativeLength, HeartbeatRequest, 3, b"\xff\xfe" + OLD[2:])
    refused(NegativeLength, MetadataRequest, 8, b"\xff\xff\xff\xfe")
    refused(NegativeLength, SaslAuthenticateRequest, 0, b"\x80\0\0\0")


def test_a_negative_length_of_a_nullable_field_is_refused_too() -> None:
    refused(NegativeLength, HeartbeatRequest, 3, OLD[:-2] + b"\xff\xfe")


def test_null_where_there_is_none_is_refused() -> None:
    refused(UnexpectedNull, HeartbeatRequest, 4, b"\0" + FLEXIBLE[6:])
    refused(UnexpectedNull, HeartbeatRequest, 3, b"\xff\xff" + OLD[7:])
    refused(UnexpectedNull, FetchResponse, 17, FETCHED + b"\0\0")


def test_a_string_longer_than_kafka_writes_is_refused() -> None:
    refused(LengthTooLarge, HeartbeatRequest, 4, b"\x81\x80\x02" + b"a" * 40_000)


def test_a_string_that_is_not_utf_8_is_refused() -> None:
    refused(BadUtf8, HeartbeatRequest, 4, FLEXIBLE.replace(b"group", b"gr\xffup"))
    refused(BadUtf8, HeartbeatRequest, 3, OLD.replace(b"group", b"gr\xffup"))
    # A surrogate by itself, which Java's encoder would have replaced.
    refused(BadUtf8, HeartbeatRequest, 3, OLD.replace(b"group", b"g\xed\xa0\x80p"))


def test_bytes_behind_the_message_are_refused() -> None:
    refused(TrailingBytes, HeartbeatRequest, 4, FLEXIBLE + b"\0")


@pytest.mark.parametrize("version", [-1, 5, 99])
def test_a_version_that_does_not_exist_is_refused(version: int) -> None:
    refused(UnknownVersion, HeartbeatRequest, version, FLEXIBLE)


def test_a_varint_that_goes_on_is_refused() -> None:
    refused(BadVarint, HeartbeatRequest, 4, b"\x80\x80\x80\x80\x80\0" + bytes(20))
    refused(BadVarint, HeartbeatRequest, 4, b"\xff\xff\xff\xff\x7f" + bytes(20))


def test_tags_that_do_not_ascend_are_refused() -> None:
    assert decode(HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\2\1\0\2\0").unknown_tags == (
        (1, b""),
        (2, b""),
    )
    refused(BadTag, HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\2\2\0\1\0")
    refused(BadTag, HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\2\1\0\1\0")


def test_a_tagged_value_that_is_not_as_long_as_it_says_is_refused() -> None:
    encoded = encode(FetchRequest(cluster_id="abc"), 17)
    assert encoded.endswith(b"\1\0\4\4abc")

    refused(BadTag, FetchRequest, 17, encoded[:-5] + b"\5\4abcd")
    refused(BadTag, FetchRequest, 17, encoded[:-5] + b"\3\4abc")


def test_a_tagged_value_beyond_the_buffer_is_refused() -> None:
    refused(LengthBeyondBuffer, HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\1\1\5")


def test_more_tags_than_kafka_accepts_are_refused() -> None:
    tags = b"".join(bytes([tag & 127 | 128, tag >> 7 & 127, 0]) for tag in range(10_001))

    refused(TooManyElements, HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\x91\x4e" + tags)


def test_ten_thousand_tags_are_accepted() -> None:
    message = HeartbeatRequest(unknown_tags=tuple((tag, b"") for tag in range(10_000)))

    assert decode(HeartbeatRequest, 4, encode(message, 4)) == message


def test_more_elements_than_kafka_accepts_are_refused() -> None:
    count = struct.pack(">i", 1_000_001)

    refused(TooManyElements, MetadataRequest, 0, count + bytes(2 * 1_000_001))


@pytest.mark.parametrize(
    ("message", "version", "buffer"),
    [
        pytest.param(MetadataRequest, 0, b"\x7f\xff\xff\xff", id="structs"),
        pytest.param(MetadataRequest, 12, LARGEST_UVARINT, id="structs, compact"),
        pytest.param(MetadataRequest, 0, struct.pack(">i", 1_000_000), id="a million"),
        pytest.param(MetadataRequest, 0, struct.pack(">i", 128), id="just over what is small"),
        pytest.param(ListTransactionsRequest, 0, b"\1" + LARGEST_UVARINT, id="numbers"),
        pytest.param(HeartbeatRequest, 4, FLEXIBLE[:-1] + LARGEST_UVARINT, id="tags"),
        pytest.param(HeartbeatRequest, 4, FLEXIBLE[:-1] + b"\x90\x4e", id="ten thousand tags"),
        pytest.param(VoteResponse, 2, b"\0\0\1" + LARGEST_UVARINT, id="known tags"),
    ],
)
def test_a_count_that_the_bytes_left_cannot_hold_is_refused_before_anything_is_made(
    message: type[Message], version: int, buffer: bytes
) -> None:
    decode_it = decoder(message, version)
    for _ in range(2):  # the first time may fill caches
        tracemalloc.start()
        try:
            with pytest.raises(TooManyElements):
                decode_it(buffer, 0)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 20_000


@pytest.mark.parametrize("byte", [0x01, 0x7F, 0x80, 0xFF])
def test_no_decoder_makes_much_out_of_little(byte: int) -> None:
    for message, version in message_versions():
        decode_it = decoder(message, version)
        tracemalloc.start()
        try:
            decode_it(bytes([byte]) * 50, 0)
        except DecodeError:
            pass
        finally:
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak_bytes < 200_000, (message, version)


def test_records_are_views_of_the_buffer() -> None:
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, b"old records")])
    buffer = bytearray(encode(ProduceRequest(topic_data=[topic]), 9))

    records = decode(ProduceRequest, 9, buffer).topic_data[0].partition_data[0].records
    buffer[:] = buffer.replace(b"old", b"new")

    assert isinstance(records, memoryview)
    assert bytes(records) == b"new records"


def test_bytes_are_not_views_of_the_buffer() -> None:
    buffer = bytearray(struct.pack(">i", 6) + b"secret")

    secret = decode(SaslAuthenticateRequest, 0, buffer).auth_bytes
    buffer[4:] = b"public"

    assert type(secret) is bytes
    assert secret == b"secret"


def test_a_decoder_starts_at_a_position_and_tells_where_it_ended() -> None:
    message, position = decoder(HeartbeatRequest, 4)(b"###" + FLEXIBLE + b"###", 3)

    assert message == HEARTBEAT
    assert position == 3 + len(FLEXIBLE)


def test_a_nullable_struct_is_there_or_null() -> None:
    for cursor in (None, Cursor("orders", 5)):
        message = DescribeTopicPartitionsRequest(cursor=cursor)

        assert decode(DescribeTopicPartitionsRequest, 0, encode(message, 0)).cursor == cursor


def test_two_decoded_messages_share_no_default() -> None:
    encoded = encode(FetchRequest(), 17)

    one, other = decode(FetchRequest, 17, encoded), decode(FetchRequest, 17, encoded)
    one.replica_state.replica_id = 5
    one.topics.append(one.topics)  # type: ignore[arg-type]

    assert other == FetchRequest()
