"""OffsetFetch: one group and many, some topics and all, by name and by id."""

import pytest

from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab, id_of, image_of

AT = ("group", "cats", 0)
PRODUCER = Producer(7, 0)


def one_group(lab: OffsetsLab, version: int, *partitions: int) -> OffsetFetchResponse:
    topics = [OffsetFetchRequestTopic("cats", list(partitions))]
    return lab.ask(OffsetFetchRequest("group", topics), OffsetFetchResponse, version)


def all_topics(lab: OffsetsLab, version: int, group: str = "group") -> OffsetFetchResponse:
    groups = [OffsetFetchRequestGroup(group, topics=None)]
    return lab.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, version)


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_is_fetched_as_of_old(lab: OffsetsLab, version: int) -> None:
    lab.commit(AT, 17, metadata="by hand", leader_epoch=3)

    answer = one_group(lab, version, 0, 1)

    there, absent = answer.topics[0].partitions
    assert answer.topics[0].name == "cats"
    assert (there.committed_offset, there.metadata, there.error_code) == (17, "by hand", 0)
    assert there.committed_leader_epoch == 3
    assert (absent.committed_offset, absent.metadata, absent.error_code) == (-1, "", 0)


@pytest.mark.parametrize("version", range(2, 8))
def test_no_topics_are_all_topics(lab: OffsetsLab, version: int) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "dogs", 2), 18)

    answer = lab.ask(OffsetFetchRequest("group", None), OffsetFetchResponse, version)

    found = {topic.name: topic.partitions[0].committed_offset for topic in answer.topics}
    assert found == {"cats": 17, "dogs": 18}


@pytest.mark.parametrize("version", [8, 9])
def test_many_groups_are_fetched_by_name(lab: OffsetsLab, version: int) -> None:
    lab.commit(AT, 17)
    lab.commit(("other", "dogs", 2), 18)
    groups = [
        OffsetFetchRequestGroup("group", topics=[OffsetFetchRequestTopics("cats", b"", [0])]),
        OffsetFetchRequestGroup("other", topics=None),
        OffsetFetchRequestGroup("nobody", topics=None),
    ]

    answer = lab.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, version)

    assert [group.group_id for group in answer.groups] == ["group", "other", "nobody"]
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 17
    assert answer.groups[1].topics[0].name == "dogs"
    assert answer.groups[2].topics == []
    assert {group.error_code for group in answer.groups} == {ErrorCode.NONE}


def test_topics_are_fetched_by_id(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    assert lab.fetched(AT, version=10).committed_offset == 17


def test_an_id_that_nobody_knows_is_an_error(lab: OffsetsLab) -> None:
    found = lab.fetched(("group", "mice", 0), version=10)

    assert (found.error_code, found.committed_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)


def test_a_name_that_nobody_knows_is_none(lab: OffsetsLab) -> None:
    found = lab.fetched(("group", "mice", 0))

    assert (found.error_code, found.committed_offset) == (ErrorCode.NONE, -1)


def test_all_topics_are_answered_by_id_if_they_are_there(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "dogs", 2), 18)
    lab.image = image_of(["dogs"])  # and nobody was told of it

    answer = all_topics(lab, 10)

    assert [topic.topic_id for topic in answer.groups[0].topics] == [id_of("dogs")]


def test_an_offset_of_another_topic_of_the_name_is_not_given_for_an_id(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.image = image_of(["cats"], {"cats": 1})
    topics = [OffsetFetchRequestTopics("", id_of("cats", 1), [0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("group", topics=topics)])

    answer = lab.ask(request, OffsetFetchResponse, 10)

    assert answer.groups[0].topics[0].partitions[0].committed_offset == -1
    assert lab.offset(AT) == 17


def test_a_pending_offset_is_unstable_for_those_who_ask_for_stable_ones(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(PRODUCER, AT, 18)

    found = lab.fetched(AT, require_stable=True)

    assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert found.committed_offset == -1
    assert lab.fetched(AT).committed_offset == 17
    assert lab.fetched(("group", "cats", 1), require_stable=True).error_code == ErrorCode.NONE


def test_all_topics_may_be_unstable_too(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(PRODUCER, AT, 18)
    groups = [OffsetFetchRequestGroup("group", topics=None)]

    answer = lab.ask(OffsetFetchRequest(groups=groups, require_stable=True), OffsetFetchResponse, 9)

    [found] = answer.groups[0].topics[0].partitions
    assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_a_group_says_who_may_fetch(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    group = lab.add(MadeUpGroup("group", fetch_error=ErrorCode.STALE_MEMBER_EPOCH))
    groups = [OffsetFetchRequestGroup("group", "me", 3, topics=None)]

    answer = lab.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, 9)

    assert group.fetchers == [("me", 3)]
    assert answer.groups[0].error_code == ErrorCode.STALE_MEMBER_EPOCH
    assert answer.groups[0].topics == []


def test_an_error_of_the_group_is_told_where_the_version_has_room_for_it(lab: OffsetsLab) -> None:
    lab.add(MadeUpGroup("group", fetch_error=ErrorCode.UNKNOWN_MEMBER_ID))

    of_partitions, of_the_group = one_group(lab, 1, 0), one_group(lab, 2, 0)

    assert of_partitions.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert of_the_group.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert of_the_group.topics == []
