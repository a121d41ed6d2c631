"""OffsetDelete: of whom, of what, and what stays."""

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupType
from barnabas_coordinator.shard.decision import Context, Producer, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_response import OffsetDeleteResponse
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab, image_of, offsets_lab

AT = ("group", "cats", 0)
PRODUCER = Producer(7, 0)


def of(topic: str, *partitions: int, group: str = "group") -> OffsetDeleteRequest:
    wanted = [OffsetDeleteRequestPartition(each) for each in partitions]
    return OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, wanted)])


def delete(lab: OffsetsLab, topic: str, *partitions: int) -> OffsetDeleteResponse:
    return lab.ask(of(topic, *partitions), OffsetDeleteResponse)


def test_offsets_of_a_group_without_members_are_deleted(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "cats", 1), 18)

    answer = delete(lab, "cats", 0, 3)

    assert answer.error_code == ErrorCode.NONE
    assert [each.error_code for each in answer.topics[0].partitions] == [0, 0]
    assert len(lab.new_records) == 1
    assert (lab.offset(AT), lab.offset(("group", "cats", 1))) == (-1, 18)


def test_a_group_that_is_not_there_is_not_found(lab: OffsetsLab) -> None:
    assert delete(lab, "cats", 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_topic_that_is_not_there_is_refused(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    answer = delete(lab, "mice", 0)

    assert answer.error_code == ErrorCode.NONE
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_group_without_a_name_is_no_group(lab: OffsetsLab) -> None:
    answer = lab.ask(of("cats", 0, group=""), OffsetDeleteResponse)

    assert answer.error_code == ErrorCode.INVALID_GROUP_ID


def test_what_consumers_are_subscribed_to_stays(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "dogs", 0), 18)
    lab.add(MadeUpGroup("group", subscribed=frozenset(["cats"])))

    cats, dogs = delete(lab, "cats", 0), delete(lab, "dogs", 0)

    assert cats.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert dogs.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert (lab.offset(AT), lab.offset(("group", "dogs", 0))) == (17, -1)


def test_of_a_consumer_group_the_same_is_true(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.add(MadeUpGroup("group", type=GroupType.CONSUMER, state_name="Reconciling"))

    assert delete(lab, "cats", 0).error_code == ErrorCode.NONE
    assert lab.offset(AT) == -1


def test_of_members_of_another_kind_nothing_is_known_and_all_stays(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.add(MadeUpGroup("group", protocol_type="connect"))

    answer = delete(lab, "cats", 0)

    assert answer.error_code == ErrorCode.NON_EMPTY_GROUP
    assert answer.topics == []
    assert lab.offset(AT) == 17


def test_a_pending_offset_is_deleted_too_and_no_marker_brings_it_back(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(PRODUCER, AT, 18)

    delete(lab, "cats", 0)
    lab.end_transaction(PRODUCER, commit=True)

    assert lab.offset(AT) == -1


def test_a_partition_named_twice_is_deleted_once(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    delete(lab, "cats", 0, 0)

    assert len(lab.new_records) == 1


def test_no_decision_is_larger_than_a_batch() -> None:
    lab = offsets_lab(image_of(["cats"]), GroupSettings(batch_bytes_max=400))
    for partition in range(4):
        lab.commit(("group", "cats", partition), 1)
    request = Request(1, OffsetDeleteRequest.KEY or 0, of("cats", 0, 1, 2, 3), Context(0))

    decisions = lab.machine.decide(request, lab.env)

    assert [len(each.records) for each in decisions] == [3, 1]
    assert [len(each.answers) for each in decisions] == [0, 1]
