"""Topics come, go and grow, and groups follow (KIP-848; the metadata hash is KIP-1101's)."""

from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.cluster_image import broker
from tests.support.consumer_lab import Consumer, ConsumerLab, settle, topic_id

ALL = frozenset(("t", number) for number in range(4))


def test_new_partitions_are_assigned(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a"), Consumer(lab, "b")
    settle(lab, first, second)
    before = first.partitions, second.partitions

    lab.grow_topic("t", 6)
    lab.do_jobs()
    settle(lab, first, second)

    assert before[0] < first.partitions
    assert before[1] < second.partitions
    assert len(first.partitions | second.partitions) == 6


def test_a_topic_that_was_deleted_is_taken_from_its_members(lab: ConsumerLab) -> None:
    lab.add_topic("u", 2)
    member = Consumer(lab, "m", ("t", "u"))
    settle(lab, member)
    gone = lab.image.topics.id_by_name["u"]

    lab.remove_topic("u")
    lab.do_jobs()
    settle(lab, member)

    assert member.partitions == ALL
    assert gone not in lab.group.owners
    assert lab.group.state_name == "Stable"


def test_a_topic_that_comes_back_under_its_name_is_another(lab: ConsumerLab) -> None:
    member = Consumer(lab, "m")
    settle(lab, member)

    lab.remove_topic("t")
    lab.add_topic("t", 3, with_id=b"another-topic-id")
    lab.do_jobs()
    settle(lab, member)

    assert {each for each, _ in member.owned} == {b"another-topic-id"}
    assert len(member.owned) == 3


def test_other_topics_are_nothing_to_a_group(lab: ConsumerLab) -> None:
    lab.beat("m")

    lab.add_topic("u", 2)
    lab.remove_topic("u")

    assert lab.group.epoch == 2
    assert not lab.jobs


def test_another_leader_is_no_reason_to_assign_anew(lab: ConsumerLab) -> None:
    lab.beat("m")

    lab.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id("t"), leader=1))

    assert lab.group.epoch == 2
    assert not lab.jobs


def test_another_rack_of_a_replica_begins_an_epoch(lab: ConsumerLab) -> None:
    lab.beat("m")

    lab.change(broker(1, rack="east"))

    assert lab.group.epoch == 3


def test_an_empty_group_sleeps_through_changes(lab: ConsumerLab) -> None:
    lab.beat("m")
    lab.beat("m", -1)

    lab.grow_topic("t", 6)

    assert lab.group.epoch == 3
    assert not lab.jobs
