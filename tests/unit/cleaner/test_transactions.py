"""Which data is aborted and which markers are spent, in one pass over a log."""

import pytest

from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.transactions import TransactionPass
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.records.batch import BatchHeader, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.control import ControlType, end_transaction_batch


def data(offset: int, producer_id: int = 1, *, is_transactional: bool = True) -> BatchHeader:
    batch = build_batch(
        [(b"k", b"v")],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    return parse_header(batch)


def marker(offset: int, producer_id: int = 1) -> BatchHeader:
    return parse_header(end_transaction_batch(True, 0, producer_id, 0, 0, offset))


def aborted(first: int, last: int, producer_id: int = 1) -> AbortedTransaction:
    return AbortedTransaction(producer_id, first, last, last + 1)


def test_data_is_aborted_from_its_first_offset_to_its_marker() -> None:
    seen = TransactionPass([aborted(5, 9)])

    assert not seen.is_aborted(data(3))
    assert seen.is_aborted(data(5))
    assert seen.is_aborted(data(8))
    assert not seen.is_aborted(data(10))


def test_data_of_others_and_data_outside_transactions_is_not_aborted() -> None:
    seen = TransactionPass([aborted(5, 9)])

    assert not seen.is_aborted(data(6, producer_id=2))
    assert not seen.is_aborted(data(7, is_transactional=False))


def test_a_marker_is_spent_when_its_transaction_has_no_data() -> None:
    seen = TransactionPass([aborted(5, 9)])

    assert seen.is_spent(marker(9), ControlType.ABORT)
    assert seen.is_spent(marker(12), ControlType.COMMIT)
    assert seen.take_aborted() == []


def test_a_commit_marker_with_data_is_not_spent_but_the_next_one_may_be() -> None:
    seen = TransactionPass([])
    seen.is_aborted(data(3))

    assert not seen.is_spent(marker(4), ControlType.COMMIT)
    assert seen.is_spent(marker(5), ControlType.COMMIT)


def test_an_abort_marker_with_data_takes_its_entry_along_but_the_next_one_may_be_spent() -> None:
    first, second = aborted(3, 4), aborted(5, 9)
    seen = TransactionPass([second, first])
    seen.is_aborted(data(3))

    assert not seen.is_spent(marker(4), ControlType.ABORT)
    assert seen.is_spent(marker(9), ControlType.ABORT)
    assert seen.take_aborted() == [first]
    assert seen.take_aborted() == []


def test_data_outside_a_transaction_does_not_keep_a_marker() -> None:
    seen = TransactionPass([])
    seen.is_aborted(data(3, is_transactional=False))

    assert seen.is_spent(marker(4), ControlType.COMMIT)


def test_transactions_of_several_producers_overlap() -> None:
    one, two = aborted(1, 6, producer_id=1), aborted(2, 5, producer_id=2)
    seen = TransactionPass([one, two])

    assert [seen.is_aborted(data(it, producer_id=it)) for it in (1, 2, 3)] == [True, True, False]
    assert not seen.is_spent(marker(5, producer_id=2), ControlType.ABORT)
    assert not seen.is_spent(marker(6, producer_id=1), ControlType.ABORT)
    assert seen.take_aborted() == [two, one], "in the order of the markers"


def test_an_abort_of_data_that_the_index_calls_committed_is_refused() -> None:
    seen = TransactionPass([])
    seen.is_aborted(data(3))

    with pytest.raises(UncleanableLog, match="offset 4"):
        seen.is_spent(marker(4), ControlType.ABORT)
