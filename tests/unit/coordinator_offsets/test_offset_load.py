"""The quick way to load offsets: it takes what the codec takes, as the codec takes it."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.group.offsets.offset_load import load_offset
from barnabas_coordinator.group.offsets.offset_store import OffsetStore
from barnabas_coordinator.shard.decision import Env, Record
from barnabas_coordinator.shard.record_codec import (
    GROUP_KINDS,
    UnknownRecord,
    decode_record,
    encode_record,
    kinds_of,
)
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue

ENV = Env(0, 0, EMPTY_IMAGE, SeededRng(1))
TOPIC_ID = b"sixteen bytes id"
INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
KEYS = st.builds(OffsetCommitKey, st.text(max_size=20), st.text(max_size=20), INT32)
VALUES = st.builds(
    OffsetCommitValue,
    offset=INT64,
    leader_epoch=INT32,
    metadata=st.text(max_size=200),
    commit_timestamp=INT64,
    expire_timestamp=st.sampled_from([-1, -1, 5]),
    topic_id=st.sampled_from([TOPIC_ID, bytes(16)]),
)


def loaded(key: bytes, value: bytes | None) -> object:
    shard = GroupShard(GroupSettings())
    try:
        shard.load(memoryview(key), None if value is None else memoryview(value), ENV)
    except (DecodeError, UnknownRecord) as error:
        return type(error)
    return shard.state.offsets.durable()


def decoded(key: bytes, value: bytes | None) -> object:
    shard = GroupShard(GroupSettings())
    try:
        record = decode_record(kinds_of(GROUP_KINDS), key, value)
    except (DecodeError, UnknownRecord) as error:
        return type(error)
    shard.replay(record.key, record.value, ENV)
    return shard.state.offsets.durable()


def test_what_a_coordinator_writes_goes_the_quick_way() -> None:
    offsets = OffsetStore()
    value = OffsetCommitValue(17, 3, "text", 1_000, topic_id=TOPIC_ID)

    assert load_offset(offsets, *encode_record(Record(OffsetCommitKey("g", "cats", 5), value)))

    assert offsets.get("g", "cats", 5) == (17, 3, "text", 1_000, -1, TOPIC_ID)


@given(key=KEYS, value=st.none() | VALUES, version=st.integers(0, 4))
def test_both_ways_lead_to_the_same(
    key: OffsetCommitKey, value: OffsetCommitValue | None, version: int
) -> None:
    encoded = encode_record(Record(key, value), version)

    assert loaded(*encoded) == decoded(*encoded)


@given(key=KEYS, value=VALUES, data=st.data())
def test_broken_bytes_are_refused_both_ways(
    key: OffsetCommitKey, value: OffsetCommitValue, data: st.DataObject
) -> None:
    parts = [bytearray(part or b"") for part in encode_record(Record(key, value))]
    broken = data.draw(st.sampled_from(parts))
    if data.draw(st.booleans()):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    else:
        del broken[data.draw(st.integers(0, len(broken) - 1)) :]

    assert loaded(*map(bytes, parts)) == decoded(*map(bytes, parts))
