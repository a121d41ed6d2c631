"""Another coordinator takes the group over from its records."""

from barnabas_coordinator.shard.decision import Record
from barnabas_coordinator.shard.record_codec import encode_record
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from tests.support.classic_lab import (
    GROUP,
    SESSION_MS,
    ClassicLab,
    join_of,
    leaving,
    subscription,
    sync_of,
)


def test_members_go_on_as_if_nothing_had_happened(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)

    lab.shard.reload()

    assert lab.heartbeat(leader, 1) == lab.heartbeat(follower, 1) == ErrorCode.NONE
    assert lab.synced(lab.sync(sync_of(follower, 1))).assignment == follower.encode()
    assert lab.joined(lab.join(join_of(follower))).generation_id == 1


def test_every_member_gets_its_full_session(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.shard.pass_time(SESSION_MS - 1)

    lab.shard.reload()

    lab.shard.pass_time(SESSION_MS - 1)
    assert list(lab.group.members) == [leader]
    lab.shard.pass_time(1)
    assert lab.group.is_empty


def test_a_generation_that_was_not_completed_is_forgotten(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.new_member()
    again = lab.join(join_of(leader))
    assert lab.joined(again).generation_id == 2

    lab.shard.reload()

    assert lab.heartbeat(leader, 2) == ErrorCode.ILLEGAL_GENERATION
    assert lab.heartbeat(leader, 1) == ErrorCode.NONE
    assert list(lab.group.members) == [leader]


def test_who_was_joining_is_not_known_any_more(lab: ClassicLab) -> None:
    member_id, _ = lab.new_member()

    lab.shard.reload()

    assert lab.join_error(lab.join(join_of(member_id))) == ErrorCode.UNKNOWN_MEMBER_ID


def test_generations_go_on_from_where_they_were(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.leave(leaving(leader))
    lab.shard.reload()

    _, call = lab.new_member()
    lab.shard.pass_time(3_000)

    assert lab.joined(call).generation_id == 3


def test_a_deleted_group_begins_anew(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.leave(leaving(leader))
    for record in lab.group.tombstones():
        lab.shard._append(record)
    assert lab.shard.machine.state.groups == {}

    _, call = lab.new_member()
    lab.shard.pass_time(3_000)

    assert lab.joined(call).generation_id == 1


def test_a_record_of_long_ago_is_understood(lab: ClassicLab) -> None:
    """v0 has no rebalance timeout and no time at which the group became what it is."""
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol="range",
        leader="one",
        members=[
            MemberMetadata(
                member_id="one", session_timeout=SESSION_MS, subscription=subscription("orders")
            )
        ],
    )
    lab.shard.log.append(encode_record(Record(GroupMetadataKey(group=GROUP), value), 0))

    lab.shard.reload()

    assert lab.heartbeat("one", 7) == ErrorCode.NONE
    assert lab.group.members["one"].rebalance_timeout_ms == SESSION_MS
    assert lab.group.state_since_ms is None
    assert lab.group.is_subscribed_to("orders")
    assert not lab.group.is_subscribed_to("payments")
