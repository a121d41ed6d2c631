"""TxnOffsetCommit: pending until the marker; what was written last counts."""

import pytest

from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab

AT = ("group", "cats", 0)
ONE, TWO = Producer(1, 0), Producer(2, 0)


@pytest.mark.parametrize("version", range(TxnOffsetCommitRequest.MAX_VERSION + 1))
def test_an_offset_counts_from_the_marker_on(lab: OffsetsLab, version: int) -> None:
    lab.commit(AT, 17)
    assert lab.commit_in_transaction(ONE, AT, 18, version=version) is ErrorCode.NONE
    assert lab.offset(AT) == 17

    lab.end_transaction(ONE, commit=True)

    assert lab.offset(AT) == 18
    assert lab.fetched(AT, require_stable=True).error_code == ErrorCode.NONE


def test_an_aborted_offset_never_was(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(ONE, AT, 18)

    lab.end_transaction(ONE, commit=False)

    assert lab.fetched(AT, require_stable=True).committed_offset == 17


def test_pending_offsets_outlive_the_coordinator(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    lab.reload()
    assert lab.fetched(AT, require_stable=True).error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT

    lab.end_transaction(ONE, commit=True)

    assert lab.offset(AT) == 18


def test_a_marker_ends_the_transaction_of_its_own_producer(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    lab.commit_in_transaction(TWO, ("group", "cats", 1), 19)

    lab.end_transaction(TWO, commit=True)

    assert (lab.offset(AT), lab.offset(("group", "cats", 1))) == (-1, 19)


def test_a_marker_without_offsets_is_nothing(lab: OffsetsLab) -> None:
    lab.end_transaction(ONE, commit=True)

    assert not lab.machine.state.offsets.has("group")


def test_a_later_plain_commit_is_not_turned_back_by_a_marker(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    lab.commit(AT, 30)

    assert lab.fetched(AT, require_stable=True).error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    lab.end_transaction(ONE, commit=True)

    assert lab.offset(AT) == 30


@pytest.mark.parametrize("first", [ONE, TWO])
def test_of_two_transactions_the_later_commit_counts(lab: OffsetsLab, first: Producer) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    lab.commit_in_transaction(TWO, AT, 19)

    lab.end_transaction(first, commit=True)
    lab.end_transaction(TWO if first is ONE else ONE, commit=True)

    assert lab.offset(AT) == 19


def test_a_group_of_pending_offsets_alone_is_there(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)

    assert lab.commit(AT, 1, generation=4) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_of_a_group_that_is_not_there_is_of_no_generation(lab: OffsetsLab) -> None:
    error = lab.commit_in_transaction(ONE, AT, 18, generation=4)

    assert error is ErrorCode.ILLEGAL_GENERATION


def test_a_stale_epoch_is_an_illegal_generation_in_transactions(lab: OffsetsLab) -> None:
    group = lab.add(MadeUpGroup("group", commit_error=ErrorCode.STALE_MEMBER_EPOCH))

    assert lab.commit_in_transaction(ONE, AT, 18, generation=4) is ErrorCode.ILLEGAL_GENERATION
    assert group.claims[0].is_transactional


def test_a_group_without_a_name_is_no_group(lab: OffsetsLab) -> None:
    error = lab.commit_in_transaction(ONE, ("", "cats", 0), 18)

    assert error is ErrorCode.INVALID_GROUP_ID
    assert not lab.new_records


@pytest.mark.parametrize("is_ended", [True, False])
def test_a_producer_of_an_older_epoch_is_fenced(lab: OffsetsLab, is_ended: bool) -> None:
    newer = Producer(ONE.id, 5)
    lab.commit_in_transaction(newer, AT, 18)
    if is_ended:
        lab.end_transaction(newer, commit=True)

    assert lab.commit_in_transaction(ONE, AT, 17) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert lab.commit_in_transaction(newer, AT, 19) is ErrorCode.NONE


def test_topics_that_are_not_there_are_refused(lab: OffsetsLab) -> None:
    by_name = lab.commit_in_transaction(ONE, ("group", "mice", 0), 1)
    by_id = lab.commit_in_transaction(ONE, ("group", "mice", 0), 1, version=6)

    assert by_name is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_id is ErrorCode.UNKNOWN_TOPIC_ID
