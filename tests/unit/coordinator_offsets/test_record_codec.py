"""Records at the versions that Kafka writes, and what is no record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_coordinator.shard.decision import Record
from barnabas_coordinator.shard.offset_layout import offset_bytes
from barnabas_coordinator.shard.record_codec import (
    GROUP_KINDS,
    UnknownRecord,
    decode_record,
    encode_record,
    kinds_of,
    written_version,
)
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue

KINDS = kinds_of(GROUP_KINDS)
KEY = OffsetCommitKey("group", "cats", 3)
VALUE = OffsetCommitValue(17, 5, "text", 1_000, topic_id=b"sixteen bytes id")


def version_of(value: bytes | None) -> int:
    assert value is not None
    return int.from_bytes(value[:2], "big")


@pytest.mark.parametrize("version", range(OffsetCommitValue.MAX_VERSION + 1))
def test_offsets_of_every_version_are_read(version: int) -> None:
    encoded = encode_record(Record(KEY, VALUE), version)

    record = decode_record(KINDS, *map(memoryview, encoded))  # type: ignore[arg-type]

    assert record.key == KEY
    assert record.value is not None
    assert encode(record.value, version) == encode(VALUE, version)


def test_an_offset_that_expires_is_written_as_it_was_of_old() -> None:
    expiring = OffsetCommitValue(17, expire_timestamp=2_000)

    _, value = encode_record(Record(KEY, expiring))

    assert version_of(value) == 1
    assert decode_record(KINDS, encode_record(Record(KEY, expiring))[0], value).value == expiring


def test_versions_are_those_that_kafka_writes() -> None:
    _, offset = encode_record(Record(KEY, VALUE))
    _, group = encode_record(Record(GroupMetadataKey("group"), GroupMetadataValue()))

    assert (version_of(offset), version_of(group)) == (4, 3)


def test_a_key_of_the_first_kind_is_an_offset_too() -> None:
    key, value = encode_record(Record(KEY, VALUE))

    assert decode_record(KINDS, b"\0\0" + key[2:], value) == (KEY, VALUE)


def test_a_deletion_has_no_value() -> None:
    key, value = encode_record(Record(KEY, None))

    assert value is None
    assert decode_record(KINDS, key, None) == (KEY, None)


def test_what_a_later_release_wrote_is_told_apart() -> None:
    key, value = encode_record(Record(KEY, VALUE))
    assert value is not None

    with pytest.raises(UnknownRecord):
        decode_record(KINDS, b"\x01\0" + key[2:], value)
    with pytest.raises(UnknownRecord):
        decode_record(KINDS, key, b"\0\x05" + value[2:])


@pytest.mark.parametrize("broken", [b"", b"\0", b"\0\x01\0\x09group"])
def test_a_broken_key_is_no_record(broken: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_record(KINDS, broken, None)


def test_bytes_too_many_or_too_few_are_no_record() -> None:
    key, value = encode_record(Record(KEY, VALUE))
    assert value is not None

    for broken in (value + b"\0", value[:-1], b"\0"):
        with pytest.raises(DecodeError):
            decode_record(KINDS, key, broken)


@given(
    st.builds(
        OffsetCommitKey, st.text(max_size=20), st.text(max_size=20), st.integers(0, 2**31 - 1)
    ),
    st.builds(
        OffsetCommitValue,
        offset=st.integers(-(2**63), 2**63 - 1),
        leader_epoch=st.integers(-1, 2**31 - 1),
        metadata=st.text(max_size=200),
        commit_timestamp=st.integers(-(2**63), 2**63 - 1),
        expire_timestamp=st.sampled_from([-1, -1, 5]),
        topic_id=st.sampled_from([b"sixteen bytes id", bytes(16)]),
    ),
)
def test_the_quick_way_writes_what_the_codec_writes(
    key: OffsetCommitKey, value: OffsetCommitValue
) -> None:
    record = Record(key, value)

    assert encode_record(record) == encode_record(record, written_version(value))


@pytest.mark.parametrize("size", [125, 126, 127, 128])
def test_metadata_of_any_length_is_written_as_the_codec_writes_it(size: int) -> None:
    record = Record(KEY, OffsetCommitValue(1, 1, "x" * size, 1, topic_id=b"sixteen bytes id"))

    assert encode_record(record) == encode_record(record, OffsetCommitValue.MAX_VERSION)


def test_most_offsets_are_written_the_quick_way() -> None:
    assert offset_bytes(KEY, VALUE) == encode_record(Record(KEY, VALUE))
    assert offset_bytes(KEY, None) is None
