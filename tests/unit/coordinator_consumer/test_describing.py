"""ConsumerGroupDescribe: what administrators see of a group (KIP-848)."""

from barnabas_core.wire.error_code import ErrorCode
from tests.support.consumer_lab import ConsumerLab


def test_a_group_is_described_with_its_epochs_members_and_assignments(lab: ConsumerLab) -> None:
    lab.beat("a", instance_id="i", rack_id="east")
    lab.beat("b")

    group = lab.described()

    assert (group.error_code, group.group_id, group.group_state) == (0, "group", "Reconciling")
    assert (group.group_epoch, group.assignment_epoch, group.assignor_name) == (3, 3, "uniform")
    first, second = group.members
    assert (first.member_id, first.instance_id, first.rack_id) == ("a", "i", "east")
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.member_epoch, second.member_epoch) == (2, 3)
    assert first.subscribed_topic_names == ["t"]
    assert first.member_type == 1
    (has,), (shall,) = first.assignment.topic_partitions, first.target_assignment.topic_partitions
    assert (has.topic_name, has.partitions) == ("t", [0, 1, 2, 3])
    assert len(shall.partitions) == 2
    assert second.assignment.topic_partitions == []
    assert len(second.target_assignment.topic_partitions[0].partitions) == 2


def test_an_empty_group_is_described_as_empty(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("a", -1)

    assert lab.described().group_state == "Empty"


def test_a_group_that_is_not_there_is_not_found(lab: ConsumerLab) -> None:
    group = lab.described("other")

    assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert group.error_message == "Group other not found."


def test_topics_that_are_gone_are_left_out(lab: ConsumerLab) -> None:
    lab.beat("a")

    lab.remove_topic("t")

    assert lab.described().members[0].assignment.topic_partitions == []
