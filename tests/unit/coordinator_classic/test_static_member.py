"""Static members (KIP-345): they come back to the place they left."""

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from tests.support.classic_lab import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicLab,
    join_of,
    leaving,
    sync_of,
)

BOTH = (("range", b"r"), ("roundrobin", b"rr"))


def stable_statics(lab: ClassicLab, *names: str) -> list[str]:
    """Their member ids, the leader's first."""
    calls = [lab.join(join_of("", BOTH, instance_id=name)) for name in names]
    lab.shard.pass_time(6_000)
    ids = [lab.joined(call).member_id for call in calls]
    lab.complete(ids, 1)
    return ids


def come_back(lab: ClassicLab, name: str, version: int = 9) -> JoinGroupResponse:
    return lab.joined(lab.join(join_of("", BOTH, instance_id=name), version))


def test_a_static_member_needs_no_second_round_for_its_id(lab: ClassicLab) -> None:
    call = lab.join(join_of("", instance_id="one"))

    lab.shard.pass_time(3_000)

    answer = lab.joined(call)
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id.startswith("one-")
    assert [one.group_instance_id for one in answer.members] == ["one"]


def test_one_that_comes_back_to_a_stable_group_gets_what_it_had_and_nobody_notices(
    lab: ClassicLab,
) -> None:
    leader, follower = stable_statics(lab, "one", "two")

    answer = come_back(lab, "two")

    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, leader)
    assert answer.member_id != follower
    share = lab.synced(lab.sync(sync_of(answer.member_id, 1, instance_id="two")))
    assert share.assignment == follower.encode()
    assert lab.heartbeat(leader, 1, "one") == ErrorCode.NONE


def test_its_new_id_is_written(lab: ClassicLab) -> None:
    leader, _ = stable_statics(lab, "one", "two")

    answer = come_back(lab, "two")

    (value,) = lab.written()
    assert value is not None
    assert value.generation == 1
    assert [one.member_id for one in value.members] == [leader, answer.member_id]


def test_a_leader_that_comes_back_is_told_not_to_assign_anew(lab: ClassicLab) -> None:
    """KIP-814."""
    stable_statics(lab, "one", "two")

    answer = come_back(lab, "one")

    assert answer.skip_assignment
    assert answer.leader == answer.member_id
    assert [one.group_instance_id for one in answer.members] == ["one", "two"]


@pytest.mark.parametrize("version", [5, 8])
def test_a_leader_of_before_that_does_not_learn_that_it_leads(
    lab: ClassicLab, version: int
) -> None:
    leader, _ = stable_statics(lab, "one", "two")

    answer = come_back(lab, "one", version)

    assert (answer.leader, answer.members, answer.skip_assignment) == (leader, [], False)
    assert lab.group.leader_id == answer.member_id


def test_the_former_self_is_fenced_in_all_it_does(lab: ClassicLab) -> None:
    _, old = stable_statics(lab, "one", "two")
    come_back(lab, "two")

    assert lab.heartbeat(old, 1, "two") == ErrorCode.FENCED_INSTANCE_ID
    sync = lab.sync(sync_of(old, 1, instance_id="two"))
    assert lab.sync_error(sync) == ErrorCode.FENCED_INSTANCE_ID
    join = lab.join(join_of(old, BOTH, instance_id="two"))
    assert lab.join_error(join) == ErrorCode.FENCED_INSTANCE_ID
    assert lab.commit(old, 1, "two") == ErrorCode.FENCED_INSTANCE_ID


def test_what_waits_of_the_former_self_is_answered(lab: ClassicLab) -> None:
    first = lab.join(join_of("", instance_id="one"))

    second = lab.join(join_of("", instance_id="one"))

    fenced = lab.joined(first)
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert fenced.protocol_name is None
    lab.shard.pass_time(6_000)
    assert lab.join_error(second) == ErrorCode.NONE


def test_one_that_comes_back_before_the_generation_is_complete_begins_another(
    lab: ClassicLab,
) -> None:
    calls = [lab.join(join_of("", BOTH, instance_id=name)) for name in ("one", "two")]
    lab.shard.pass_time(6_000)
    leader, follower = (lab.joined(call).member_id for call in calls)
    waiting = lab.sync(sync_of(follower, 1, instance_id="two"))

    again = lab.join(join_of("", BOTH, instance_id="two"))

    assert lab.sync_error(waiting) == ErrorCode.FENCED_INSTANCE_ID
    assert lab.heartbeat(leader, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join(join_of(leader, BOTH, instance_id="one"))
    assert lab.joined(again).generation_id == 2


def test_one_that_changes_the_protocol_of_the_group_brings_about_a_rebalance(
    lab: ClassicLab,
) -> None:
    leader, _ = stable_statics(lab, "one", "two")

    call = lab.join(join_of("", (("roundrobin", b"rr"),), instance_id="two"))

    assert lab.is_waiting(call)
    assert lab.heartbeat(leader, 1, "one") == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join(join_of(leader, BOTH, instance_id="one"))
    assert lab.joined(call).protocol_name == "roundrobin"


def test_one_that_is_away_keeps_its_place_in_a_rebalance(lab: ClassicLab) -> None:
    leader, away = stable_statics(lab, "one", "two")
    again = lab.join(join_of(leader, BOTH, instance_id="one"))

    for _ in range(REBALANCE_MS // 5_000):
        lab.heartbeat(away, 1, "two")
        lab.shard.pass_time(5_000)

    answer = lab.joined(again)
    assert [one.member_id for one in answer.members] == [leader, away]


def test_one_that_stays_away_for_its_session_is_dropped(lab: ClassicLab) -> None:
    stable_statics(lab, "one")

    lab.shard.pass_time(SESSION_MS)

    assert lab.group.static_members == {}
    assert lab.group.state_name == "Empty"


def test_one_that_comes_back_and_is_not_heard_of_again_is_dropped(lab: ClassicLab) -> None:
    leader, _ = stable_statics(lab, "one", "two")
    lab.shard.pass_time(SESSION_MS - 1)
    lab.heartbeat(leader, 1, "one")
    come_back(lab, "two")

    lab.shard.pass_time(SESSION_MS - 1)
    lab.heartbeat(leader, 1, "one")
    assert set(lab.group.static_members) == {"one", "two"}
    lab.shard.pass_time(1)

    assert set(lab.group.static_members) == {"one"}


def test_an_instance_that_is_not_known_has_no_member(lab: ClassicLab) -> None:
    (leader,) = stable_statics(lab, "one")

    assert lab.heartbeat(leader, 1, "another") == ErrorCode.UNKNOWN_MEMBER_ID


def test_when_all_are_away_their_return_is_waited_for(lab: ClassicLab) -> None:
    ids = stable_statics(lab, "one", "two")
    pending = lab.new_member_id(BOTH)
    new = lab.join(join_of(pending, BOTH, session_ms=SESSION_MS))
    assert lab.leave(leaving(pending)) == [ErrorCode.NONE]
    assert not lab.is_waiting(new)

    for _ in range(REBALANCE_MS // 5_000 + 2):
        for one, name in zip(ids, ("one", "two"), strict=True):
            lab.heartbeat(one, 1, name)
        lab.shard.pass_time(5_000)

    assert lab.group.state_name == "PreparingRebalance"
    assert lab.group.generation == 1
    calls = [lab.join(join_of("", BOTH, instance_id=name)) for name in ("one", "two")]
    assert {lab.joined(call).generation_id for call in calls} == {2}


def test_one_that_comes_back_to_another_coordinator_is_known(lab: ClassicLab) -> None:
    _, old = stable_statics(lab, "one", "two")
    lab.shard.reload()

    answer = lab.joined(lab.join(join_of("", (("range", b"r"),), instance_id="two")))

    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    assert lab.heartbeat(old, 1, "two") == ErrorCode.FENCED_INSTANCE_ID


def test_one_that_comes_back_with_too_much_to_say_is_not_let_in_unnoticed(lab: ClassicLab) -> None:
    """The group could not be written with it."""
    stable_statics(lab, "one", "two")
    large = (("range", bytes(lab.settings.batch_bytes_max)), ("roundrobin", b"rr"))

    call = lab.join(join_of("", large, instance_id="two"))

    assert lab.is_waiting(call)
    assert lab.written() == []
    assert lab.group.state_name == "PreparingRebalance"
