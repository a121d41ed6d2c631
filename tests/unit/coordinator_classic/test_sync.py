"""SyncGroup: the leader assigns, the group is written, all are told."""

import pytest

from barnabas_coordinator.shard.record_codec import encode_record
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.sync_group_request import SyncGroupRequest
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse
from tests.support.classic_lab import REBALANCE_MS, SESSION_MS, ClassicLab, join_of, sync_of


def completing(lab: ClassicLab, count: int = 2) -> list[str]:
    """A generation that waits for its leader, who is the first."""
    members = [lab.new_member() for _ in range(count)]
    lab.shard.pass_time(6_000)
    for _, call in members:
        lab.joined(call)
    return [member_id for member_id, _ in members]


def test_followers_wait_for_the_leader(lab: ClassicLab) -> None:
    leader, follower = completing(lab)

    waiting = lab.sync(sync_of(follower, 1))
    assert lab.is_waiting(waiting)
    assert lab.group.state_name == "CompletingRebalance"
    own = lab.sync(sync_of(leader, 1, {leader: b"L", follower: b"F"}))

    assert lab.synced(own).assignment == b"L"
    answer = lab.synced(waiting)
    assert (answer.assignment, answer.protocol_type, answer.protocol_name) == (
        b"F",
        "consumer",
        "range",
    )
    assert lab.group.state_name == "Stable"


def test_a_generation_is_written_with_what_its_members_have(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    began_ms = lab.shard.now_ms
    lab.shard.pass_time(500)

    lab.sync(sync_of(leader, 1, {leader: b"L", follower: b"F"}))

    (value,) = lab.written()
    assert value is not None
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == (
        "consumer",
        1,
        "range",
        leader,
    )
    assert value.current_state_timestamp == began_ms
    one, two = value.members
    assert (one.member_id, one.assignment, one.subscription) == (leader, b"L", b"r")
    assert (two.member_id, two.assignment, two.session_timeout) == (follower, b"F", SESSION_MS)
    assert (two.client_id, two.client_host) == ("client", "/127.0.0.1")
    assert two.rebalance_timeout == REBALANCE_MS


def test_nothing_is_written_before_the_leader_has_assigned(lab: ClassicLab) -> None:
    _, follower = completing(lab)
    assert lab.written() == []

    lab.sync(sync_of(follower, 1))

    assert lab.written() == []


def test_a_group_that_is_too_large_to_be_written_is_not(lab: ClassicLab) -> None:
    """The log would refuse it, and all groups of the shard would pay for that."""
    leader, follower = completing(lab)
    waiting = lab.sync(sync_of(follower, 1))

    share = bytes(lab.settings.batch_bytes_max // 2)
    own = lab.sync(sync_of(leader, 1, {leader: share, follower: share}))

    assert lab.sync_error(own) is lab.sync_error(waiting) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.written() == []
    assert lab.group.state_name == "PreparingRebalance"
    assert lab.heartbeat(follower, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_what_is_said_to_fit_does_fit(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    lab.sync(sync_of(follower, 1))
    room = lab.settings.batch_bytes_max - 2_000

    lab.sync(sync_of(leader, 1, {leader: bytes(room)}))

    records = [encode_record(record) for record in lab.shard.new_records]
    assert len(records) == 1
    assert room < len(build_batch(records)) <= lab.settings.batch_bytes_max


def test_whom_the_leader_forgets_is_assigned_nothing(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    waiting = lab.sync(sync_of(follower, 1))

    lab.sync(sync_of(leader, 1, {leader: b"all", "somebody-else": b"none"}))

    assert lab.synced(waiting).assignment == b""


def test_who_syncs_late_gets_its_share_at_once(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    lab.sync(sync_of(leader, 1, {follower: b"F"}))

    assert lab.synced(lab.sync(sync_of(follower, 1))).assignment == b"F"
    assert lab.written() == []


def test_a_rebalance_calls_off_those_who_wait(lab: ClassicLab) -> None:
    _, follower = completing(lab)
    waiting = lab.sync(sync_of(follower, 1))

    lab.new_member()

    assert lab.sync_error(waiting) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.sync_error(lab.sync(sync_of(follower, 1))) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rebalance_that_is_called_off_leaves_nobody_with_what_it_had(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.joined(lab.join(join_of(leader)))
    assert lab.group.members[leader].assignment == leader.encode()

    lab.new_member()

    assert lab.group.members[leader].assignment == b""


def test_a_retry_takes_the_place_of_the_sync_that_waits(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    lost = lab.sync(sync_of(follower, 1))
    retry = lab.sync(sync_of(follower, 1))

    lab.sync(sync_of(leader, 1, {follower: b"F"}))

    assert lab.is_waiting(lost)
    assert lab.synced(retry).assignment == b"F"


def test_who_does_not_sync_in_time_is_left_behind(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    lab.sync(sync_of(leader, 1))

    for _ in range(REBALANCE_MS // 5_000):
        lab.heartbeat(leader, 1)
        lab.heartbeat(follower, 1)
        lab.shard.pass_time(5_000)

    assert list(lab.group.members) == [leader]
    assert lab.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_does_not_assign_in_time_is_replaced(lab: ClassicLab) -> None:
    leader, follower = completing(lab)
    waiting = lab.sync(sync_of(follower, 1))

    for _ in range(REBALANCE_MS // 5_000):
        lab.heartbeat(leader, 1)
        lab.shard.pass_time(5_000)
    assert lab.sync_error(waiting) == ErrorCode.REBALANCE_IN_PROGRESS

    answer = lab.joined(lab.join(join_of(follower)))
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_once_all_have_synced_nobody_is_waited_for(lab: ClassicLab) -> None:
    ids = lab.stable(2)

    for _ in range(2 * REBALANCE_MS // 5_000):
        assert {lab.heartbeat(one, 1) for one in ids} == {ErrorCode.NONE}
        lab.shard.pass_time(5_000)


def test_a_stranger_and_another_generation_are_refused(lab: ClassicLab) -> None:
    leader, _ = lab.stable(2)

    assert lab.sync_error(lab.sync(sync_of("stranger", 1))) == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.sync_error(lab.sync(sync_of(leader, 0))) == ErrorCode.ILLEGAL_GENERATION
    assert lab.sync_error(lab.sync(sync_of(leader, 2))) == ErrorCode.ILLEGAL_GENERATION


def test_a_group_that_is_not_there_has_no_members(lab: ClassicLab) -> None:
    assert lab.sync_error(lab.sync(sync_of("one", 1))) == ErrorCode.UNKNOWN_MEMBER_ID
    nameless = sync_of("one", 1)
    nameless.group_id = ""
    assert lab.sync_error(lab.sync(nameless)) == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    "request_of_another_mind",
    [
        {"protocol": "roundrobin"},
        {"protocol_type": "connect"},
    ],
)
def test_a_member_of_another_mind_about_the_protocol_is_refused(
    lab: ClassicLab, request_of_another_mind: dict[str, str]
) -> None:
    """KIP-559."""
    (leader,) = lab.stable(1)

    request = sync_of(leader, 1, None, **request_of_another_mind)

    assert lab.sync_error(lab.sync(request)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_from_v5_on_the_protocol_must_be_named(lab: ClassicLab) -> None:
    """KIP-559."""
    (leader,) = lab.stable(1)
    request = sync_of(leader, 1)
    request.protocol_name = None

    assert lab.sync_error(lab.sync(request, 5)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    request.protocol_type = None
    assert lab.sync_error(lab.sync(request, 4)) == ErrorCode.NONE


@pytest.mark.parametrize("version", range(SyncGroupRequest.MAX_VERSION + 1))
def test_every_answer_can_be_written_at_every_version(lab: ClassicLab, version: int) -> None:
    (leader,) = lab.stable(1)

    for request in (sync_of(leader, 1), sync_of(leader, 9)):
        answer = lab.synced(lab.sync(request, version))
        written = decode(SyncGroupResponse, version, encode(answer, version))
        assert written.error_code == answer.error_code
