"""ListGroups, DescribeGroups and DeleteGroups, over groups of all kinds."""

import pytest

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupType
from barnabas_coordinator.shard.decision import Context, Producer, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribeGroupsResponse,
)
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.list_groups_request import ListGroupsRequest
from barnabas_core.wire.messages.list_groups_response import ListGroupsResponse
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab, image_of, offsets_lab

PRODUCER = Producer(7, 0)
NOT_AUTHORIZED_TO_SAY = -(2**31)


@pytest.fixture
def groups(lab: OffsetsLab) -> OffsetsLab:
    """One of each kind: offsets alone, classic with members, consumer and empty."""
    lab.commit(("simple", "cats", 0), 1)
    lab.add(MadeUpGroup("workers", protocol_type="connect"))
    lab.add(
        MadeUpGroup(
            "readers",
            type=GroupType.CONSUMER,
            state_name="Empty",
            is_empty=True,
            delete_error=ErrorCode.NONE,
        )
    )
    return lab


def listed(lab: OffsetsLab, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> set[str]:
    request = ListGroupsRequest(list(states), list(types))
    return {each.group_id for each in lab.ask(request, ListGroupsResponse).groups}


@pytest.mark.parametrize("version", range(6))
def test_all_groups_are_listed(groups: OffsetsLab, version: int) -> None:
    answer = groups.ask(ListGroupsRequest(), ListGroupsResponse, version)

    found = {
        (each.group_id, each.protocol_type, each.group_state, each.group_type)
        for each in answer.groups
    }
    assert found == {
        ("simple", "", "Empty", "classic"),
        ("workers", "connect", "Stable", "classic"),
        ("readers", "consumer", "Empty", "consumer"),
    }


def test_groups_are_listed_by_state_whatever_its_case(groups: OffsetsLab) -> None:
    assert listed(groups, states=("eMPTY",)) == {"simple", "readers"}
    assert listed(groups, states=(" stable ", "dead")) == {"workers"}
    assert listed(groups, states=("PreparingRebalance",)) == set()


def test_groups_are_listed_by_type_whatever_its_case(groups: OffsetsLab) -> None:
    assert listed(groups, types=("CLASSIC",)) == {"simple", "workers"}
    assert listed(groups, types=("consumer", "share")) == {"readers"}
    assert listed(groups, types=("no such type",)) == set()


def test_both_filters_must_match(groups: OffsetsLab) -> None:
    assert listed(groups, states=("empty",), types=("classic",)) == {"simple"}


def test_a_list_waits_for_all_that_was_written(groups: OffsetsLab) -> None:
    request = Request(1, ListGroupsRequest.KEY or 0, ListGroupsRequest(), Context(5))

    [decision] = groups.machine.decide(request, groups.env)

    assert decision.touched == ()


def test_a_group_of_pending_offsets_is_listed(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(PRODUCER, ("simple", "cats", 0), 1)

    assert listed(lab) == {"simple"}


def describe(lab: OffsetsLab, group_id: str, version: int = 6) -> DescribedGroup:
    answer = lab.ask(DescribeGroupsRequest([group_id]), DescribeGroupsResponse, version)
    [found] = answer.groups
    assert found.group_id == group_id
    assert found.authorized_operations == NOT_AUTHORIZED_TO_SAY
    return found


@pytest.mark.parametrize("version", range(7))
def test_a_group_of_offsets_alone_is_described_as_empty(groups: OffsetsLab, version: int) -> None:
    found = describe(groups, "simple", version)

    assert (found.error_code, found.group_state, found.protocol_type) == (0, "Empty", "")
    assert found.members == []


@pytest.mark.parametrize("version", range(6))
def test_a_group_that_is_not_there_was_dead(groups: OffsetsLab, version: int) -> None:
    found = describe(groups, "nobody", version)

    assert (found.error_code, found.group_state) == (ErrorCode.NONE, "Dead")


def test_a_group_that_is_not_there_is_not_found(groups: OffsetsLab) -> None:
    found = describe(groups, "nobody")

    assert (found.error_code, found.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert found.error_message == "Group nobody not found."


def test_a_consumer_group_is_no_classic_group(groups: OffsetsLab) -> None:
    found = describe(groups, "readers")

    assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert found.error_message == "Group readers is not a classic group."


def delete(lab: OffsetsLab, *group_ids: str, version: int = 3) -> dict[str, int]:
    request = DeleteGroupsRequest(list(group_ids))
    results = lab.ask(request, DeleteGroupsResponse, version).results
    return {each.group_id: each.error_code for each in results}


@pytest.mark.parametrize("version", range(4))
def test_each_group_has_its_own_outcome(groups: OffsetsLab, version: int) -> None:
    assert delete(groups, "simple", "workers", "nobody", "readers", version=version) == {
        "simple": ErrorCode.NONE,
        "workers": ErrorCode.NON_EMPTY_GROUP,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
        "readers": ErrorCode.NONE,
    }


def test_why_a_group_is_not_deleted_is_said(groups: OffsetsLab) -> None:
    request = DeleteGroupsRequest(["workers", "nobody"])

    answer = groups.ask(request, DeleteGroupsResponse)

    assert [each.error_message for each in answer.results] == [
        "The group is not empty.",
        "Group nobody not found.",
    ]


def test_a_deleted_group_takes_its_offsets_along(lab: OffsetsLab) -> None:
    lab.commit(("simple", "cats", 0), 1)
    lab.commit(("simple", "dogs", 3), 1)
    lab.commit_in_transaction(PRODUCER, ("simple", "dogs", 2), 1)

    delete(lab, "simple", "simple")

    assert len(lab.new_records) == 4
    assert lab.new_records[-1] == (GroupMetadataKey("simple"), None)
    assert listed(lab) == set()
    lab.end_transaction(PRODUCER, commit=True)
    assert listed(lab) == set()


def test_a_large_group_is_deleted_by_several_decisions() -> None:
    lab = offsets_lab(image_of(["cats"]), GroupSettings(batch_bytes_max=400))
    for partition in range(4):
        lab.commit(("simple", "cats", partition), 1)
    request = Request(1, DeleteGroupsRequest.KEY or 0, DeleteGroupsRequest(["simple"]), Context(3))

    decisions = lab.machine.decide(request, lab.env)

    assert [len(each.records) for each in decisions] == [3, 2]
    assert [len(each.answers) for each in decisions] == [0, 1]
    assert {tuple(each.touched) for each in decisions} == {("simple",)}
