"""WriteTxnMarkers: transactions end; what is late, or of somebody replaced, ends nothing."""

from typing import NamedTuple

import pytest

from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas_core.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse
from tests.support.offsets_lab import OffsetsLab

AT = ("group", "cats", 0)
ONE, TWO = Producer(1, 5), Producer(2, 0)


class Ending(NamedTuple):
    producer: Producer
    commit: bool = True
    coordinator_epoch: int = 0
    transaction_version: int = 0


def end(lab: OffsetsLab, *endings: Ending, version: int = 2) -> list[ErrorCode]:
    """The error of each."""
    topics = [WritableTxnMarkerTopic("__consumer_offsets", [0])]
    markers = [
        WritableTxnMarker(
            one.producer.id,
            one.producer.epoch,
            one.commit,
            topics,
            one.coordinator_epoch,
            one.transaction_version,
        )
        for one in endings
    ]
    answer = lab.ask(WriteTxnMarkersRequest(markers), WriteTxnMarkersResponse, version)
    assert [one.producer_id for one in answer.markers] == [one.producer.id for one in endings]
    return [ErrorCode(one.topics[0].partitions[0].error_code) for one in answer.markers]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_what_is_pending_counts_or_never_was(lab: OffsetsLab, version: int, commit: bool) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(ONE, AT, 18)

    assert end(lab, Ending(ONE, commit), version=version) == [ErrorCode.NONE]

    assert lab.fetched(AT, require_stable=True).committed_offset == (18 if commit else 17)
    lab.check_replay()


def test_many_transactions_end_at_once(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    lab.commit_in_transaction(TWO, ("other", "dogs", 1), 19)

    assert end(lab, Ending(ONE), Ending(TWO, commit=False)) == [ErrorCode.NONE] * 2

    assert (lab.offset(AT), lab.offset(("other", "dogs", 1))) == (18, -1)


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_marker_of_an_older_epoch_ends_nothing(lab: OffsetsLab, is_reloaded: bool) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    if is_reloaded:
        lab.reload()

    found = end(lab, Ending(Producer(ONE.id, 4)))

    assert found == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert lab.fetched(AT, require_stable=True).error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_a_late_marker_of_version_two_does_not_end_the_next_transaction(lab: OffsetsLab) -> None:
    """Each transaction has its epoch, and its marker the one after (KIP-890)."""
    lab.commit_in_transaction(ONE, AT, 18)
    following = Producer(ONE.id, ONE.epoch + 1)
    assert end(lab, Ending(following, transaction_version=2)) == [ErrorCode.NONE]
    lab.commit_in_transaction(following, AT, 19)

    found = end(lab, Ending(following, commit=False, transaction_version=2))

    assert found == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert lab.offset(AT) == 18
    assert lab.fetched(AT, require_stable=True).error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_a_marker_that_is_sent_again_does_no_harm(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(ONE, AT, 18)
    following = Producer(ONE.id, ONE.epoch + 1)
    ending = Ending(following, transaction_version=2)

    assert end(lab, ending) == end(lab, ending) == [ErrorCode.NONE]
    assert lab.offset(AT) == 18


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_coordinator_that_was_replaced_ends_nothing(lab: OffsetsLab, is_reloaded: bool) -> None:
    end(lab, Ending(ONE, coordinator_epoch=7))
    lab.commit_in_transaction(ONE, AT, 18)
    if is_reloaded:
        lab.reload()

    found = end(lab, Ending(ONE, coordinator_epoch=6))

    assert found == [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
    assert lab.offset(AT) == -1


def test_within_a_request_the_order_counts(lab: OffsetsLab) -> None:
    """The log would refuse the second, and with it the whole session would end."""
    older = Producer(ONE.id, 4)

    assert end(lab, Ending(ONE), Ending(older)) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    ]


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Producer(-1, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (Producer(1, -1), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_nobody_has_no_transaction(lab: OffsetsLab, producer: Producer, error: ErrorCode) -> None:
    """There are no batches without a producer and with a transaction: the log refuses them."""
    assert end(lab, Ending(producer)) == [error]
    assert lab.commit_in_transaction(producer, AT, 18) is error
    assert not lab.new_records
