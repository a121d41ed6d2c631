"""What an encoder refuses to lose or to write wrong, and what it hands out."""

import pytest

from barnabas_core.wire.codec import decode, encode, encode_parts
from barnabas_core.wire.error import EncodeError, UnknownVersion, UnsupportedField
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.list_transactions_request import ListTransactionsRequest
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.schema import Message


def fetched(*records: object) -> FetchResponse:
    partitions = [PartitionData(i, records=r) for i, r in enumerate(records)]  # type: ignore[arg-type]
    return FetchResponse(responses=[FetchableTopicResponse("orders", partitions=partitions)])


class FileRange:
    """Bytes that are not in memory: a length is all that the codec may ask for."""

    def __len__(self) -> int:
        return 1_000_000


def test_records_are_parts_by_themselves_and_never_copied() -> None:
    first, second = FileRange(), memoryview(b"records")

    parts = encode_parts(fetched(first, None, second), 12)

    assert [part for part in parts if not isinstance(part, bytes)] == [first, second]
    assert parts[1] is first
    assert parts[3] is second
    # The length that stands before a part counts it: 1,000,001 as a varint.
    assert isinstance(parts[0], bytes)
    assert parts[0].endswith(b"\xc1\x84\x3d")


def test_the_first_part_is_bytes_of_the_encoder() -> None:
    assert [type(part) for part in encode_parts(HeartbeatRequest(), 4)] == [bytes]
    assert type(encode_parts(fetched(memoryview(b"")), 12)[0]) is bytes


def test_a_field_that_the_version_lacks_must_have_its_default() -> None:
    assert encode(HeartbeatRequest("g", 1, "m"), 2)
    with pytest.raises(UnsupportedField, match="group_instance_id"):
        encode(HeartbeatRequest("g", 1, "m", "static"), 2)


def test_a_struct_that_the_version_lacks_must_have_its_default() -> None:
    message = FetchRequest()
    message.replica_state.replica_id = 3

    with pytest.raises(UnsupportedField, match="replica_state"):
        encode(message, 14)


def test_a_field_that_may_be_ignored_is_left_out() -> None:
    message = FetchRequest(rack_id="a", session_epoch=5)

    assert decode(FetchRequest, 4, encode(message, 4)) == FetchRequest()


def test_a_nested_field_that_the_version_lacks_is_refused_with_its_path() -> None:
    partition = FetchPartition(last_fetched_epoch=3)
    message = FetchRequest(topics=[FetchTopic("orders", partitions=[partition])])

    with pytest.raises(UnsupportedField, match=r"topics\.partitions\.last_fetched_epoch"):
        encode(message, 11)


def test_unknown_tags_cannot_be_sent_at_a_version_without_tags() -> None:
    with pytest.raises(UnsupportedField, match="unknown_tags"):
        encode(HeartbeatRequest(unknown_tags=((1, b""),)), 3)


def test_tagged_fields_go_out_in_order_whatever_the_order_they_came_in() -> None:
    message = fetched(b"")
    leader = message.responses[0].partitions[0]
    leader.current_leader = LeaderIdAndEpoch(3, 4)
    leader.unknown_tags = ((9, b"nine"), (7, b"seven"))

    encoded = encode(message, 12)

    assert b"\x03\x01\x09\0\0\0\x03\0\0\0\x04\0\x07\x05seven\x09\x04nine" in encoded


def test_an_unknown_tag_cannot_take_the_place_of_a_known_one() -> None:
    message = FetchRequest(cluster_id="abc", unknown_tags=((0, b"x"),))

    with pytest.raises(EncodeError, match="twice"):
        encode(message, 17)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(HeartbeatRequest(None, 1, "m"), id="null string"),  # type: ignore[arg-type]
        pytest.param(HeartbeatRequest("g", 2**31, "m"), id="number out of range"),
        pytest.param(HeartbeatRequest("g", "1", "m"), id="text for a number"),  # type: ignore[arg-type]
        pytest.param(HeartbeatRequest(7, 1, "m"), id="number for text"),  # type: ignore[arg-type]
        pytest.param(HeartbeatRequest("\ud800", 1, "m"), id="half a surrogate pair"),
        pytest.param(HeartbeatRequest("g" * 32_768, 1, "m"), id="string too long"),
        pytest.param(HeartbeatRequest(unknown_tags=((-1, b""),)), id="negative tag"),
        pytest.param(ListTransactionsRequest(producer_id_filters=None), id="null array"),  # type: ignore[arg-type]
        pytest.param(ListTransactionsRequest(producer_id_filters=[2**63]), id="long number"),
    ],
)
def test_a_value_that_the_wire_cannot_carry_is_refused(message: Message) -> None:
    for version in range(message.MAX_VERSION, message.MAX_VERSION - 2, -1):
        with pytest.raises(EncodeError):
            encode(message, version)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_uuid_of_another_length_is_refused(size: int) -> None:
    message = FetchRequest(topics=[FetchTopic(topic_id=bytes(size))])

    with pytest.raises(EncodeError, match="topic_id"):
        encode(message, 17)


def test_the_longest_string_is_accepted() -> None:
    message = HeartbeatRequest("g" * 32_767, 1, "m")

    assert decode(HeartbeatRequest, 4, encode(message, 4)) == message


def test_an_empty_array_is_not_a_null_array() -> None:
    choices: list[list[MetadataRequestTopic] | None] = [None, []]
    for topics in choices:
        assert decode(MetadataRequest, 12, encode(MetadataRequest(topics), 12)).topics == topics
        assert decode(MetadataRequest, 8, encode(MetadataRequest(topics), 8)).topics == topics


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownVersion):
        encode(HeartbeatRequest(), 5)
    with pytest.raises(EncodeError):
        encode(HeartbeatRequest(), 5)


def test_a_message_shows_only_what_is_not_the_default() -> None:
    assert repr(FetchRequest(max_bytes=5)) == "FetchRequest(max_bytes=5)"


def test_messages_are_equal_by_value_and_cannot_be_hashed() -> None:
    assert HeartbeatRequest("g") == HeartbeatRequest("g")
    assert HeartbeatRequest("g") != HeartbeatRequest("h")
    assert HeartbeatRequest(unknown_tags=((1, b""),)) != HeartbeatRequest()
    with pytest.raises(TypeError):
        hash(HeartbeatRequest())
