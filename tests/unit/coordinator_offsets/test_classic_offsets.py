"""Offsets and administration of groups that were joined, by the classic protocol."""

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribeGroupsResponse,
)
from barnabas_core.wire.messages.list_groups_request import ListGroupsRequest
from barnabas_core.wire.messages.list_groups_response import ListGroupsResponse
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_response import OffsetDeleteResponse
from tests.support.classic_lab import GROUP, SESSION_MS, ClassicLab, leaving, subscription
from tests.support.offsets_lab import OffsetsLab

AT = (GROUP, "cats", 0)
DAY_MS = 86_400_000
CATS = subscription("cats")


@pytest.fixture
def members(lab: OffsetsLab) -> ClassicLab:
    classic = ClassicLab()
    classic.shard = lab
    return classic


def described(lab: OffsetsLab) -> DescribedGroup:
    return lab.ask(DescribeGroupsRequest([GROUP]), DescribeGroupsResponse).groups[0]


def states(lab: OffsetsLab) -> list[str]:
    answer = lab.ask(ListGroupsRequest(), ListGroupsResponse)
    return [each.group_state for each in answer.groups]


def test_a_member_of_this_generation_commits(lab: OffsetsLab, members: ClassicLab) -> None:
    [member_id] = members.stable(1)

    assert lab.commit(AT, 17, generation=1, member_id=member_id) is ErrorCode.NONE
    assert lab.commit(AT, 18, generation=0, member_id=member_id) is ErrorCode.ILLEGAL_GENERATION
    assert lab.commit(AT, 18, generation=1, member_id="other") is ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.commit(AT, 18) is ErrorCode.UNKNOWN_MEMBER_ID

    assert lab.offset(AT) == 17


def test_a_commit_is_a_sign_of_life(lab: OffsetsLab, members: ClassicLab) -> None:
    [member_id] = members.stable(1)

    for number in range(5):
        lab.pass_time(SESSION_MS - 1)
        assert lab.commit(AT, number, generation=1, member_id=member_id) is ErrorCode.NONE


def test_a_stable_group_is_described_with_what_its_members_have(
    lab: OffsetsLab, members: ClassicLab
) -> None:
    ids = members.stable(2, (("range", CATS),))

    found = described(lab)

    assert (found.error_code, found.group_state) == (ErrorCode.NONE, "Stable")
    assert (found.protocol_type, found.protocol_data) == ("consumer", "range")
    assert {each.member_id for each in found.members} == set(ids)
    for each in found.members:
        assert each.member_assignment == each.member_id.encode()
        assert each.member_metadata == CATS
        assert (each.client_id, each.client_host) == ("client", "/127.0.0.1")


def test_a_group_that_rebalances_is_described_without(lab: OffsetsLab, members: ClassicLab) -> None:
    members.stable(1)
    members.new_member()

    found = described(lab)

    assert (found.group_state, found.protocol_data) == ("PreparingRebalance", "")
    assert len(found.members) == 2
    assert {(each.member_metadata, each.member_assignment) for each in found.members} == {
        (b"", b"")
    }


def test_only_a_group_that_all_have_left_is_deleted(lab: OffsetsLab, members: ClassicLab) -> None:
    [member_id] = members.stable(1)
    lab.commit(AT, 17, generation=1, member_id=member_id)
    request = DeleteGroupsRequest([GROUP])

    refused = lab.ask(request, DeleteGroupsResponse).results[0].error_code
    members.leave(leaving(member_id))
    assert states(lab) == ["Empty"]
    deleted = lab.ask(request, DeleteGroupsResponse).results[0].error_code

    assert (refused, deleted) == (ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE)
    assert states(lab) == []


def test_offsets_of_subscribed_topics_are_not_deleted(lab: OffsetsLab, members: ClassicLab) -> None:
    [member_id] = members.stable(1, (("range", CATS),))
    for topic in ("cats", "dogs"):
        lab.commit((GROUP, topic, 0), 17, generation=1, member_id=member_id)
    topics = [
        OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])
        for topic in ("cats", "dogs")
    ]

    answer = lab.ask(OffsetDeleteRequest(GROUP, topics), OffsetDeleteResponse)

    assert [topic.partitions[0].error_code for topic in answer.topics] == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
    ]


def test_offsets_expire_from_when_the_last_member_left(
    lab: OffsetsLab, members: ClassicLab
) -> None:
    [member_id] = members.stable(1)
    lab.commit(AT, 17, generation=1, member_id=member_id)
    lab.pass_time(SESSION_MS - 1)
    lab.now_ms += 30 * DAY_MS  # the member is still there
    members.leave(leaving(member_id))

    lab.pass_time(6 * DAY_MS)
    assert lab.offset(AT) == 17
    lab.pass_time(2 * DAY_MS)

    assert lab.offset(AT) == -1
    assert states(lab) == []


def test_who_joins_a_group_of_offsets_alone_finds_its_offsets(
    lab: OffsetsLab, members: ClassicLab
) -> None:
    lab.commit(AT, 17)

    members.stable(1)

    assert states(lab) == ["Stable"]
    assert lab.offset(AT) == 17
