"""OffsetCommit: who may commit what, and what is written."""

import pytest

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import Claim
from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab, id_of, image_of, offsets_lab

AT = ("group", "cats", 0)
VERSIONS = range(OffsetCommitRequest.MIN_VERSION, OffsetCommitRequest.MAX_VERSION + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_that_nobody_joined_begins_with_its_first_offset(
    lab: OffsetsLab, version: int
) -> None:
    assert lab.commit(AT, 17, version=version) is ErrorCode.NONE

    assert lab.offset(AT) == 17


def test_a_record_holds_all_that_was_said(lab: OffsetsLab) -> None:
    lab.commit(AT, 17, metadata="by hand", leader_epoch=3)

    [record] = lab.new_records
    assert record.key == OffsetCommitKey("group", "cats", 0)
    assert record.value == OffsetCommitValue(
        offset=17,
        leader_epoch=3,
        metadata="by hand",
        commit_timestamp=lab.now_ms,
        topic_id=id_of("cats"),
    )


def test_no_metadata_is_empty_metadata(lab: OffsetsLab) -> None:
    lab.commit(AT, 17, metadata=None)

    assert lab.fetched(AT).metadata == ""


def test_the_last_commit_counts_even_if_it_goes_back(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(AT, 5)

    assert lab.offset(AT) == 5


@pytest.mark.parametrize("version", range(2, 5))
def test_old_clients_say_for_how_long(lab: OffsetsLab, version: int) -> None:
    lab.commit(AT, 17, version=version, retention_ms=60_000)

    assert lab.new_records[0].value.expire_timestamp == lab.now_ms + 60_000  # type: ignore[union-attr]


def test_a_topic_that_is_not_there_is_refused_by_name(lab: OffsetsLab) -> None:
    assert lab.commit(("group", "mice", 0), 17) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_is_not_there_is_refused_by_id(lab: OffsetsLab) -> None:
    assert lab.commit(("group", "mice", 0), 17, version=10) is ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [9, 10])
def test_a_partition_that_is_not_there_is_refused(lab: OffsetsLab, version: int) -> None:
    error = lab.commit(("group", "cats", 4), 17, version=version)

    assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not lab.new_records


def test_ids_are_answered_by_ids(lab: OffsetsLab) -> None:
    topic = OffsetCommitRequestTopic("", id_of("cats"), [OffsetCommitRequestPartition(0, 17)])
    request = OffsetCommitRequest(group_id="group", topics=[topic])

    answer = lab.ask(request, OffsetCommitResponse, 10)

    assert answer.topics[0].topic_id == id_of("cats")


def test_one_refused_partition_does_not_hold_up_the_others(lab: OffsetsLab) -> None:
    wanted = [OffsetCommitRequestPartition(each, 17) for each in (0, 9, 1)]
    request = OffsetCommitRequest(
        group_id="group", topics=[OffsetCommitRequestTopic("cats", partitions=wanted)]
    )

    answer = lab.ask(request, OffsetCommitResponse, 9)

    errors = [each.error_code for each in answer.topics[0].partitions]
    assert errors == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert len(lab.new_records) == 2


def test_metadata_that_is_too_long_is_refused(lab: OffsetsLab) -> None:
    assert lab.commit(AT, 1, metadata="m" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert lab.offset(AT) == -1


def test_metadata_is_counted_as_java_counts_it(lab: OffsetsLab) -> None:
    assert lab.commit(AT, 1, metadata="é" * 4096) is ErrorCode.NONE
    assert lab.commit(AT, 1, metadata="🐈" * 2049) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_what_does_not_fit_into_a_batch_is_refused_as_a_whole() -> None:
    lab = offsets_lab(image_of(["cats"]), GroupSettings(batch_bytes_max=1_000))
    wanted = [OffsetCommitRequestPartition(each, 1, -1, "m" * 300) for each in range(4)]
    topic = OffsetCommitRequestTopic("cats", partitions=wanted)

    answer = lab.ask(OffsetCommitRequest(group_id="group", topics=[topic]), OffsetCommitResponse, 9)

    errors = {each.error_code for each in answer.topics[0].partitions}
    assert errors == {ErrorCode.INVALID_COMMIT_OFFSET_SIZE}
    assert not lab.new_records
    assert lab.commit(AT, 1, metadata="m" * 300) is ErrorCode.NONE


@pytest.mark.parametrize("version", VERSIONS)
def test_a_member_of_a_group_that_is_not_there_is_refused(lab: OffsetsLab, version: int) -> None:
    error = lab.commit(AT, 17, generation=3, member_id="me", version=version)

    assert error is (ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION)


def test_a_member_of_a_group_of_offsets_alone_is_refused(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    assert lab.commit(AT, 18, generation=3, member_id="me") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_says_who_may_commit(lab: OffsetsLab) -> None:
    group = lab.add(MadeUpGroup("group", commit_error=ErrorCode.ILLEGAL_GENERATION))

    assert lab.commit(AT, 17, generation=3, member_id="me") is ErrorCode.ILLEGAL_GENERATION

    assert group.claims == [Claim("me", None, 3, 9)]
    assert not lab.new_records


class StaleCommits(MadeUpGroup):
    """Whose members may still commit partition 0 with an older epoch."""

    def check_commit_of(self, claim: Claim, topic_id: bytes, partition: int) -> ErrorCode:
        assert (claim.generation, topic_id) == (3, id_of("cats"))
        return ErrorCode.NONE if partition == 0 else ErrorCode.STALE_MEMBER_EPOCH


def test_a_stale_epoch_may_be_good_for_some_partitions(lab: OffsetsLab) -> None:
    lab.add(StaleCommits("group", commit_error=ErrorCode.STALE_MEMBER_EPOCH))
    other = ("group", "cats", 1)

    assert lab.commit(AT, 17, generation=3) is ErrorCode.NONE
    assert lab.commit(other, 17, generation=3) is ErrorCode.STALE_MEMBER_EPOCH
    producer = Producer(7, 0)
    assert lab.commit_in_transaction(producer, AT, 18, generation=3) is ErrorCode.NONE
    error = lab.commit_in_transaction(producer, other, 18, generation=3)
    assert error is ErrorCode.ILLEGAL_GENERATION


def test_a_group_is_not_asked_about_topics_that_are_not_there(lab: OffsetsLab) -> None:
    group = lab.add(MadeUpGroup("group", commit_error=ErrorCode.ILLEGAL_GENERATION))

    assert lab.commit(("group", "mice", 0), 17) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert not group.claims


def test_a_group_without_a_name_may_commit(lab: OffsetsLab) -> None:
    assert lab.commit(("", "cats", 0), 17) is ErrorCode.NONE

    assert lab.offset(("", "cats", 0)) == 17


def test_offsets_outlive_the_coordinator(lab: OffsetsLab) -> None:
    lab.commit(AT, 17, metadata="by hand", leader_epoch=2)
    lab.reload()

    found = lab.fetched(AT)
    assert (found.committed_offset, found.committed_leader_epoch) == (17, 2)
    assert found.metadata == "by hand"
