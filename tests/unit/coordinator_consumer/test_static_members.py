"""Static members leave for a while and come back as themselves (KIP-345 in KIP-848)."""

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from tests.support.consumer_lab import Consumer, ConsumerLab, settle

ALL = frozenset(("t", number) for number in range(4))


def test_who_left_for_a_while_keeps_its_partitions(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")

    answer = lab.beat("a", -2, instance_id="i")

    assert (answer.error_code, answer.member_epoch) == (0, -2)
    assert lab.group.epoch == 2
    assert lab.names(lab.group.members["a"].assigned) == ALL


def test_who_comes_back_under_another_id_finds_them_and_no_epoch_begins(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")
    lab.beat("a", -2, instance_id="i")

    answer = lab.beat("b", instance_id="i")

    assert lab.told(answer) == ALL
    assert answer.member_epoch == lab.group.epoch == 2
    assert list(lab.group.members) == ["b"]
    assert lab.group.statics == {"i": "b"}
    assert lab.group.state_name == "Stable"


def test_others_are_given_nothing_in_the_meantime(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a", instance_id="i"), Consumer(lab, "b")
    settle(lab, first, second)
    mine = first.partitions
    first.leave(-2)

    settle(lab, second)
    assert len(second.partitions) == 2

    back = Consumer(lab, "c", instance_id="i")
    back.beat()
    assert back.partitions == mine


def test_who_does_not_come_back_in_time_is_gone(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a", instance_id="i"), Consumer(lab, "b")
    settle(lab, first, second)
    first.leave(-2)

    for _ in range(10):
        lab.pass_time(5_000)
        second.beat()
    settle(lab, second)

    assert second.partitions == ALL
    assert lab.group.statics == {}


def test_an_instance_that_has_not_left_is_not_replaced(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")

    assert lab.refused("b", instance_id="i") is ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_same_member_of_an_instance_may_join_again(lab: ConsumerLab) -> None:
    """The answer to its first heartbeat was lost."""
    lab.beat("a", instance_id="i")

    assert lab.told(lab.beat("a", instance_id="i")) == ALL


def test_the_member_that_was_replaced_is_fenced(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")
    lab.beat("a", -2, instance_id="i")
    lab.beat("b", instance_id="i")

    assert lab.refused("a", 2, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID
    assert lab.refused("a", -1, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID
    assert lab.refused("a", -2, instance_id="i") is ErrorCode.FENCED_INSTANCE_ID


def test_the_session_of_the_member_that_was_replaced_puts_nobody_out(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")
    lab.pass_time(30_000)
    lab.beat("a", -2, instance_id="i")
    lab.beat("b", instance_id="i")

    lab.pass_time(30_000)

    assert list(lab.group.members) == ["b"]


def test_an_instance_that_nobody_is_is_unknown(lab: ConsumerLab) -> None:
    lab.beat("a")

    assert lab.refused("a", 2, instance_id="i") is ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.refused("a", -2, instance_id="i") is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_for_good_gives_up_its_instance(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")

    lab.beat("a", -1, instance_id="i")

    assert lab.group.is_empty
    assert lab.told(lab.beat("b", instance_id="i")) == ALL


def test_who_comes_back_with_other_topics_begins_an_epoch(lab: ConsumerLab) -> None:
    lab.add_topic("u", 2)
    lab.beat("a", instance_id="i")
    lab.beat("a", -2, instance_id="i")

    answer = lab.beat("b", instance_id="i", subscribed_topic_names=["u"])

    assert answer.member_epoch == 3
    assert lab.told(answer) == {("u", 0), ("u", 1)}


def test_who_left_in_the_middle_of_a_revocation_has_revoked(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a", instance_id="i", is_slow=True), Consumer(lab, "b")
    first.beat()
    second.beat()
    first.beat()
    assert lab.group.members["a"].revoking

    first.leave(-2)
    second.beat()

    assert len(second.partitions) == 2


def test_a_heartbeat_that_waited_does_not_bring_back_who_left_since(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i")
    lab.add_topic("u", 1)
    late = lab.post("a", 2, instance_id="i", subscribed_topic_names=["t", "u"])
    assert lab.is_waiting(late)

    lab.post("a", -2, instance_id="i")
    lab.do_jobs()

    assert lab.group.members["a"].epoch == -2
    answer = lab.answer(late, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
