"""Classic and consumer groups become each other while their members go on (KIP-848, migration)."""

import pytest

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.group_state import Claim
from barnabas_core.wire.error_code import ErrorCode
from tests.support.classic_consumer import ClassicConsumer
from tests.support.consumer_lab import GROUP, Consumer, ConsumerLab

ALL = frozenset(("t", number) for number in range(4))


def classic_lab(policy: str = "bidirectional") -> ConsumerLab:
    return ConsumerLab({"t": 4}, consumer_migration_policy=policy, initial_rebalance_delay_ms=0)


def classic_pair(lab: ConsumerLab) -> tuple[ClassicConsumer, ClassicConsumer]:
    """Two in a stable classic group, with two partitions each."""
    first, second = ClassicConsumer(lab, "x"), ClassicConsumer(lab, "y")
    first.post_join()
    first.take_join()  # is given its id
    first.post_join()
    lab.pass_time(0)
    first.take_join()
    first.sync({first.member_id: ALL})
    second.post_join()
    second.take_join()
    second.post_join()
    first.post_join()
    first.take_join()
    second.take_join()
    halves = frozenset(sorted(ALL)[:2]), frozenset(sorted(ALL)[2:])
    first.sync({first.member_id: halves[0], second.member_id: halves[1]})
    second.sync()
    assert (first.owned, second.owned) == halves
    return first, second


def owned_once(*members: ClassicConsumer | Consumer) -> frozenset[tuple[str, int]]:
    owned = [one.partitions if isinstance(one, Consumer) else one.owned for one in members]
    assert sum(map(len, owned)) == len(frozenset().union(*owned)), owned
    return frozenset().union(*owned)


def settle_mixed(lab: ConsumerLab, *members: ClassicConsumer | Consumer) -> None:
    for _ in range(6):
        for one in members:
            one.beat() if isinstance(one, Consumer) else one.go_on()
            owned_once(*members)
        lab.pass_time(1_000)
        lab.do_jobs()


def test_who_speaks_the_new_protocol_makes_a_classic_group_a_consumer_group() -> None:
    lab = classic_lab()
    old = classic_pair(lab)

    new = Consumer(lab, "m")
    new.beat()

    assert isinstance(lab.machine.state.groups[GROUP], ConsumerGroup)
    assert set(lab.group.members) == {old[0].member_id, old[1].member_id, "m"}
    assert new.partitions == frozenset()  # all of them are owned still
    lab.check_replay()


def test_members_of_both_protocols_share_a_group() -> None:
    lab = classic_lab()
    old = classic_pair(lab)
    new = Consumer(lab, "m")

    settle_mixed(lab, new, *old)

    assert owned_once(new, *old) == ALL
    assert sorted(len(each) for each in (new.partitions, old[0].owned, old[1].owned)) == [1, 1, 2]
    assert lab.group.state_name == "Stable"
    described = {one.member_id: one.member_type for one in lab.described().members}
    assert described == {"m": 1, old[0].member_id: 0, old[1].member_id: 0}
    lab.check_replay()


def test_a_classic_member_is_told_to_join_again_and_keeps_its_session() -> None:
    lab = classic_lab()
    first, second = classic_pair(lab)
    Consumer(lab, "m").beat()

    assert first.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    lab.pass_time(9_000)
    assert first.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    lab.pass_time(1_000)  # the second was silent for its ten seconds

    assert first.member_id in lab.group.members
    assert second.member_id not in lab.group.members
    lab.check_replay()


def test_who_waited_in_the_classic_group_is_told_to_come_again() -> None:
    lab = classic_lab()
    first, _ = classic_pair(lab)
    third = ClassicConsumer(lab, "z")
    third.post_join()
    third.take_join()
    third.post_join()
    assert third.call is not None
    assert lab.is_waiting(third.call)

    Consumer(lab, "m").beat()
    third.take_join()

    assert third.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert first.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    lab.check_replay()


def test_a_classic_consumer_may_join_a_consumer_group() -> None:
    lab = classic_lab()
    new = Consumer(lab, "m")
    new.beat()
    old = ClassicConsumer(lab, "x")

    old.join()
    old.sync()
    settle_mixed(lab, new, old)

    assert owned_once(new, old) == ALL
    assert len(old.owned) == 2
    assert lab.group.state_name == "Stable"
    lab.check_replay()


def test_classic_members_are_checked_as_in_a_classic_group() -> None:
    lab = classic_lab()
    Consumer(lab, "m").beat()
    old = ClassicConsumer(lab, "x")
    old.join()

    stranger = ClassicConsumer(lab, "y", member_id="nobody", generation=2)
    assert stranger.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    modern = ClassicConsumer(lab, "m", member_id="m", generation=2)
    assert modern.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    old.generation += 1
    assert old.beat() is ErrorCode.ILLEGAL_GENERATION
    old.sync()
    assert old.error is ErrorCode.ILLEGAL_GENERATION
    claim = Claim(old.member_id, None, old.generation, 8)
    assert lab.group.check_commit(claim, lab.env) is ErrorCode.ILLEGAL_GENERATION
    good = Claim(old.member_id, None, old.generation - 1, 8)
    assert lab.group.check_commit(good, lab.env) is ErrorCode.NONE
    lab.check_replay()


def test_a_classic_member_that_never_fetches_its_share_is_put_out() -> None:
    lab = classic_lab()
    new, old = Consumer(lab, "m"), ClassicConsumer(lab, "x")
    new.beat()
    old.join()

    for _ in range(3):
        lab.pass_time(7_000)
        if old.member_id in lab.group.members:
            old.beat()

    assert list(lab.group.members) == ["m"]
    lab.check_replay()


def test_when_records_can_be_written_again_a_classic_member_has_its_full_time() -> None:
    """To fetch its share, or to join again: either may have been refused meanwhile."""
    lab = classic_lab()
    first, _ = classic_pair(lab)
    Consumer(lab, "m").beat()
    late = ClassicConsumer(lab, "z")
    late.join()
    for _ in range(2):  # 18 s of 20 are over
        first.beat()
        lab.pass_time(9_000)
        late.beat()

    lab.machine.on_writable(lab.env)
    for _ in range(2):
        first.beat()
        lab.pass_time(9_000)
        late.beat()
    assert lab.is_member(first.member_id)
    assert lab.is_member(late.member_id)

    first.beat()
    lab.pass_time(2_000)
    assert not lab.is_member(first.member_id)
    assert not lab.is_member(late.member_id)
    lab.check_replay()


def test_the_last_of_the_new_protocol_leaves_a_classic_group() -> None:
    lab = classic_lab()
    old = classic_pair(lab)
    new = Consumer(lab, "m")
    settle_mixed(lab, new, *old)
    generation = lab.group.epoch

    new.leave()

    group = lab.machine.state.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert set(group.members) == {one.member_id for one in old}
    assert group.generation == generation
    assert group.state_name == "PreparingRebalance"
    lab.check_replay()
    for one in old:
        assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        one.post_join()
    for one in old:
        one.take_join()
    assert {one.generation for one in old} == {generation + 1}
    assert any(len(one.leads) == 2 for one in old)
    lab.check_replay()


def test_it_does_so_too_when_its_session_ends() -> None:
    lab = classic_lab()
    old = classic_pair(lab)
    Consumer(lab, "m").beat()

    for _ in range(8):
        lab.pass_time(5_000)
        for one in old:
            one.go_on()
    lab.pass_time(5_000)

    assert isinstance(lab.machine.state.groups[GROUP], ClassicGroup)
    lab.check_replay()


def test_classic_members_leave_a_consumer_group() -> None:
    lab = classic_lab()
    old = classic_pair(lab)
    new = Consumer(lab, "m")
    settle_mixed(lab, new, *old)

    answer = old[0].leave()
    assert [one.error_code for one in answer.members] == [0]
    answer = old[0].leave()
    assert [one.error_code for one in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
    lab.do_jobs()
    settle_mixed(lab, new, old[1])

    assert owned_once(new, old[1]) == ALL
    lab.check_replay()


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_may_keep_classic_groups_classic(policy: str) -> None:
    lab = classic_lab(policy)
    classic_pair(lab)

    assert lab.refused("m") is ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(lab.machine.state.groups[GROUP], ClassicGroup)
    lab.check_replay()


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_a_policy_may_keep_consumer_groups_as_they_are(policy: str) -> None:
    lab = classic_lab(policy)
    new, old = Consumer(lab, "m"), ClassicConsumer(lab, "x")
    new.beat()
    old.join()
    old.sync()

    new.leave()

    assert list(lab.group.members) == [old.member_id]
    lab.check_replay()


def test_an_empty_group_of_either_protocol_makes_room_for_the_other() -> None:
    lab = classic_lab("disabled")
    lab.beat("m")
    lab.beat("m", -1)
    old = ClassicConsumer(lab, "x")
    old.post_join()
    old.take_join()
    assert isinstance(lab.machine.state.groups[GROUP], ClassicGroup)
    lab.check_replay()

    old.leave()
    lab.pass_time(20_000)
    assert lab.told(lab.beat("n")) == ALL
    assert isinstance(lab.machine.state.groups[GROUP], ConsumerGroup)
    lab.check_replay()


def test_a_static_classic_member_is_taken_over_by_its_modern_self() -> None:
    lab = classic_lab()
    Consumer(lab, "m").beat()
    old = ClassicConsumer(lab, "x", instance_id="i")
    old.join()

    answer = lab.beat("n", instance_id="i")

    assert answer.error_code == ErrorCode.NONE
    assert set(lab.group.members) == {"m", "n"}
    assert old.beat() is ErrorCode.FENCED_INSTANCE_ID
    lab.check_replay()


def test_a_group_of_others_than_consumers_is_not_upgraded() -> None:
    lab = classic_lab()
    classic_pair(lab)
    group = lab.machine.state.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    group.protocol_type = "connect"

    assert lab.refused("m") is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_classic_member_goes_through_both_changes_and_stays() -> None:
    lab = classic_lab()
    old = classic_pair(lab)
    new = Consumer(lab, "m")
    new.beat()
    assert old[0].beat() is ErrorCode.REBALANCE_IN_PROGRESS  # within twenty seconds

    new.leave()
    Consumer(lab, "n").beat()
    for _ in range(4):
        lab.pass_time(6_000)
        for one in old:
            one.go_on()

    assert {one.member_id for one in old} <= set(lab.group.members)
    lab.check_replay()
