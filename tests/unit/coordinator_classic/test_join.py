"""JoinGroup: who may, under what name, and how long it takes."""

import re

import pytest

from barnabas_coordinator.group.classic.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from barnabas_core.wire.messages.join_group_request import JoinGroupRequest
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from tests.support.classic_lab import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    ClassicLab,
    join_of,
)

ROUND_ROBIN = ("roundrobin", b"rr")
RANGE = ("range", b"r")


def test_a_new_member_is_given_an_id_and_told_to_come_again_with_it(lab: ClassicLab) -> None:
    """KIP-394."""
    answer = lab.joined(lab.join(join_of(""), client_id="billing"))

    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(r"billing-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.member_id)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_before_v4_a_new_member_joins_at_once(lab: ClassicLab, version: int) -> None:
    call = lab.join(join_of(""), version)

    lab.shard.pass_time(3_000)

    answer = lab.joined(call)
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    assert answer.member_id == answer.leader


def test_the_first_join_writes_that_the_group_is_there(lab: ClassicLab) -> None:
    lab.new_member_id()

    (value,) = lab.written()
    assert value is not None
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == (
        "",
        0,
        None,
        None,
    )
    assert value.current_state_timestamp == lab.shard.now_ms
    assert value.members == []


def test_a_member_of_a_group_that_is_not_there_is_unknown(lab: ClassicLab) -> None:
    call = lab.join(join_of("client-1"))

    answer = lab.joined(call)

    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "client-1")
    assert lab.written() == []


def test_a_member_that_the_group_does_not_know_is_unknown(lab: ClassicLab) -> None:
    lab.stable(1)

    answer = lab.joined(lab.join(join_of("somebody-else")))

    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.protocol_name is None


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(lab: ClassicLab, session_ms: int) -> None:
    call = lab.join(join_of("", session_ms=session_ms))

    assert lab.join_error(call) == ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_group_has_a_name(lab: ClassicLab) -> None:
    request = join_of("")
    request.group_id = ""

    assert lab.join_error(lab.join(request)) == ErrorCode.INVALID_GROUP_ID


def test_nobody_joins_without_a_protocol(lab: ClassicLab) -> None:
    assert lab.join_error(lab.join(join_of("", ()))) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    nameless = join_of("", protocol_type="")
    assert lab.join_error(lab.join(nameless)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_connect_worker_does_not_join_a_group_of_consumers(lab: ClassicLab) -> None:
    lab.stable(1)

    call = lab.join(join_of("", protocol_type="connect"))

    assert lab.join_error(call) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_must_support_what_all_others_support(lab: ClassicLab) -> None:
    lab.stable(2, (RANGE,))

    call = lab.join(join_of("", (ROUND_ROBIN,)))

    assert lab.join_error(call) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_only_what_all_support_is_voted_on(lab: ClassicLab) -> None:
    sticky = ("sticky", b"s")
    calls = [
        lab.new_member((sticky, RANGE, ROUND_ROBIN))[1],
        lab.new_member((sticky, RANGE, ROUND_ROBIN))[1],
        lab.new_member((ROUND_ROBIN, RANGE))[1],
    ]

    lab.shard.pass_time(6_000)

    assert {lab.joined(call).protocol_name for call in calls} == {"range"}


def test_a_majority_decides_on_the_protocol(lab: ClassicLab) -> None:
    calls = [
        lab.new_member((RANGE, ROUND_ROBIN))[1],
        lab.new_member((ROUND_ROBIN, RANGE))[1],
        lab.new_member((ROUND_ROBIN, RANGE))[1],
    ]

    lab.shard.pass_time(6_000)

    assert {lab.joined(call).protocol_name for call in calls} == {"roundrobin"}


def test_only_the_leader_is_told_who_is_in_the_group(lab: ClassicLab) -> None:
    first, call_one = lab.new_member((("range", b"one"),))
    second, call_two = lab.new_member((("range", b"two"),))

    lab.shard.pass_time(6_000)

    leader, follower = lab.joined(call_one), lab.joined(call_two)
    assert leader.leader == follower.leader == first
    listed = [(one.member_id, one.metadata) for one in leader.members]
    assert listed == [(first, b"one"), (second, b"two")]
    assert follower.members == []
    assert leader.protocol_type == follower.protocol_type == "consumer"


def test_the_first_rebalance_waits_for_more_members(lab: ClassicLab) -> None:
    """KIP-134."""
    _, one = lab.new_member()
    lab.shard.pass_time(2_900)
    _, two = lab.new_member()
    lab.shard.pass_time(200)
    assert lab.is_waiting(one)

    lab.shard.pass_time(2_900)

    assert lab.joined(one).generation_id == lab.joined(two).generation_id == 1


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout(lab: ClassicLab) -> None:
    """KIP-134."""
    calls = []
    for _ in range(4):
        member_id = lab.new_member_id()
        calls.append(lab.join(join_of(member_id, rebalance_ms=7_000)))
        lab.shard.pass_time(2_000)

    assert lab.joined(calls[0]).generation_id == 1


def test_the_first_rebalance_is_not_held_up_by_who_never_came_again(lab: ClassicLab) -> None:
    _, call = lab.new_member()
    lab.new_member_id()

    lab.shard.pass_time(6_000)

    assert lab.join_error(call) == ErrorCode.NONE


def test_a_later_rebalance_waits_for_who_was_given_an_id(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    pending = lab.new_member_id()
    _, new = lab.new_member()
    again = lab.join(join_of(leader))
    assert lab.is_waiting(again)

    last = lab.join(join_of(pending))

    generations = {lab.joined(call).generation_id for call in (new, again, last)}
    assert generations == {2}


def test_who_was_given_an_id_and_does_not_come_is_forgotten_after_its_session(
    lab: ClassicLab,
) -> None:
    (leader,) = lab.stable(1)
    pending = lab.new_member_id()
    _, new = lab.new_member()
    again = lab.join(join_of(leader))

    lab.shard.pass_time(SESSION_MS)

    assert lab.joined(new).generation_id == lab.joined(again).generation_id == 2
    assert lab.join_error(lab.join(join_of(pending))) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_given_to_a_dynamic_member_is_not_for_a_static_one(lab: ClassicLab) -> None:
    pending = lab.new_member_id()

    call = lab.join(join_of(pending, instance_id="one"))

    assert lab.join_error(call) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.group.members == {}


def test_a_follower_that_asks_again_in_a_stable_group_is_told_where_it_stands(
    lab: ClassicLab,
) -> None:
    leader, follower = lab.stable(2)

    answer = lab.joined(lab.join(join_of(follower)))

    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, leader)
    assert lab.group.state_name == "Stable"


def test_a_follower_with_other_metadata_brings_about_a_rebalance(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)

    call = lab.join(join_of(follower, (("range", b"changed"),)))

    assert lab.is_waiting(call)
    assert lab.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_asks_again_in_a_stable_group_brings_about_a_rebalance(
    lab: ClassicLab,
) -> None:
    leader, follower = lab.stable(2)

    call = lab.join(join_of(leader))

    assert lab.is_waiting(call)
    assert lab.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_missed_the_answer_gets_it_again_before_the_generation_is_complete(
    lab: ClassicLab,
) -> None:
    first, call = lab.new_member()
    lab.shard.pass_time(3_000)
    lab.joined(call)

    answer = lab.joined(lab.join(join_of(first)))

    assert (answer.generation_id, answer.leader) == (1, first)
    assert [one.member_id for one in answer.members] == [first]


def test_other_metadata_before_the_generation_is_complete_begins_another(lab: ClassicLab) -> None:
    first, call = lab.new_member()
    lab.shard.pass_time(3_000)
    lab.joined(call)

    again = lab.join(join_of(first, (("range", b"changed"),)))

    assert lab.joined(again).generation_id == 2


def test_a_retry_takes_the_place_of_the_join_that_waits(lab: ClassicLab) -> None:
    first, call = lab.new_member()
    retry = lab.join(join_of(first))

    lab.shard.pass_time(6_000)

    assert lab.is_waiting(call)
    assert lab.join_error(retry) == ErrorCode.NONE
    assert len(lab.group.members) == 1


def test_a_join_whose_connection_is_lost_still_counts(lab: ClassicLab) -> None:
    first, call = lab.new_member()
    lab.shard.machine.on_call_lost(call)

    lab.shard.pass_time(3_000)

    assert list(lab.group.members) == [first]
    assert lab.group.generation == 1


def test_who_does_not_come_again_in_time_is_left_behind(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    again = lab.join(join_of(leader))
    for _ in range(REBALANCE_MS // 5_000):
        lab.heartbeat(follower, 1)
        lab.shard.pass_time(5_000)

    assert lab.joined(again).generation_id == 2
    assert lab.heartbeat(follower, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_slowest_member_decides_how_long_is_waited(lab: ClassicLab) -> None:
    slow = lab.new_member_id()
    slow_call = lab.join(join_of(slow, rebalance_ms=90_000))
    fast, fast_call = lab.new_member()
    lab.shard.pass_time(6_000)
    lab.joined(slow_call)
    lab.joined(fast_call)

    again = lab.join(join_of(fast, (("range", b"changed"),)))
    for _ in range(17):
        lab.heartbeat(slow, 1)
        lab.shard.pass_time(5_000)
    assert lab.is_waiting(again)
    lab.shard.pass_time(5_000)

    assert lab.joined(again).leader == fast


def test_a_v0_member_has_its_session_timeout_to_come_again(lab: ClassicLab) -> None:
    lab.join(join_of("", rebalance_ms=-1), 0)

    (member,) = lab.group.members.values()
    assert member.rebalance_timeout_ms == SESSION_MS


def test_a_new_member_that_waits_for_five_minutes_has_to_ask_again(lab: ClassicLab) -> None:
    slow = lab.new_member_id()
    lab.join(join_of(slow, rebalance_ms=1_000_000))
    lab.shard.pass_time(3_000)
    new, call = lab.new_member()

    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        assert lab.is_waiting(call)
        lab.heartbeat(slow, 1)
        lab.shard.pass_time(5_000)

    assert lab.join_error(call) == ErrorCode.UNKNOWN_MEMBER_ID
    assert new not in lab.group.members


def test_an_old_member_that_waits_needs_no_heartbeats(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    waiting = lab.join(join_of(leader))

    for _ in range(5):
        lab.heartbeat(follower, 1)
        lab.shard.pass_time(SESSION_MS // 2)
    lab.join(join_of(follower))

    assert lab.joined(waiting).generation_id == 2


def test_a_full_group_takes_nobody_in() -> None:
    lab = ClassicLab(settings=GroupSettings(max_size=2))
    one, two = lab.stable(2)

    assert lab.join_error(lab.join(join_of(""))) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert lab.heartbeat(one, 1) == lab.heartbeat(two, 1) == ErrorCode.NONE
    lab.shard.check_replay()


def test_a_group_that_is_too_large_loses_those_who_come_last() -> None:
    lab = ClassicLab()
    ids = lab.stable(3)
    lab.settings = GroupSettings(max_size=2)
    lab.shard.reload()
    assert lab.heartbeat(ids[0], 1) == ErrorCode.REBALANCE_IN_PROGRESS

    calls = [lab.join(join_of(one)) for one in ids]

    assert lab.join_error(calls[2]) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(lab.group.members) == ids[:2]
    lab.shard.pass_time(REBALANCE_MS)
    assert {lab.joined(call).generation_id for call in calls[:2]} == {2}
    lab.shard.check_replay()


@pytest.mark.parametrize("version", range(JoinGroupRequest.MAX_VERSION + 1))
def test_every_answer_can_be_written_at_every_version(lab: ClassicLab, version: int) -> None:
    def as_written(call: int) -> JoinGroupResponse:
        return decode(JoinGroupResponse, version, encode(lab.joined(call), version))

    assert as_written(lab.join(join_of("nobody"), version)).error_code
    call = lab.join(join_of(""), version)
    if version >= 4:
        call = lab.join(join_of(as_written(call).member_id), version)
    lab.shard.pass_time(3_000)
    joined = as_written(call)
    assert (joined.error_code, joined.protocol_name) == (ErrorCode.NONE, "range")
    assert as_written(lab.join(join_of("somebody-else"), version)).error_code


def test_an_empty_group_of_the_other_protocol_makes_room(lab: ClassicLab) -> None:
    """KIP-848: it is deleted in the decision that makes it a classic one."""
    shard = lab.shard
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="one",
        member_epoch=0,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    shard.send(heartbeat)
    heartbeat.member_epoch = -1
    shard.send(heartbeat)
    shard.do_jobs()
    assert shard.machine.state.groups[GROUP].is_empty

    _, call = lab.new_member()
    shard.pass_time(3_000)

    assert lab.joined(call).generation_id == 1
    assert lab.group.state_name == "CompletingRebalance"
