"""The rules of idempotent and transactional producers, each by itself."""

from itertools import pairwise

import pytest

from barnabas_core.log.producers.producer_state import (
    AppendOrigin,
    CompletedTransaction,
    Duplicate,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerEntry,
    ProducerState,
    TransactionCoordinatorFenced,
)
from barnabas_core.wire.error_code import ErrorCode
from tests.support.producer_history import Batch

CLIENT = AppendOrigin.CLIENT
COORDINATOR = AppendOrigin.COORDINATOR
REPLICATION = AppendOrigin.REPLICATION
LARGEST = 2**31 - 1


class Partition:
    """A producer state with a log end, so that a test can just append."""

    def __init__(self) -> None:
        self.state = ProducerState()
        self.end = 0

    def append(
        self, *batches: Batch, origin: AppendOrigin = CLIENT
    ) -> Duplicate | list[CompletedTransaction]:
        append = self.state.begin(origin)
        offset = self.end
        for batch in batches:
            duplicate = append.check_and_add(
                batch.header(),
                offset,
                control=batch.control,
                transaction_version=batch.transaction_version,
            )
            if duplicate is not None:
                return duplicate
            offset += batch.count
        self.end = offset
        return self.state.apply(append)

    def end_transaction(self, batch: Batch) -> list[CompletedTransaction]:
        completed = self.append(batch, origin=COORDINATOR)
        assert isinstance(completed, list)
        return completed


@pytest.fixture
def log() -> Partition:
    return Partition()


def data(sequence: int, *, producer_id: int = 1, epoch: int = 0, count: int = 1) -> Batch:
    return Batch(producer_id, epoch, sequence, count, timestamp_ms=1000 + sequence)


def transactional(sequence: int, *, producer_id: int = 1, epoch: int = 0) -> Batch:
    return Batch(producer_id, epoch, sequence, is_transactional=True)


def marker(
    *,
    is_commit: bool,
    producer_id: int = 1,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    version: int = 0,
) -> Batch:
    return Batch(
        producer_id,
        epoch,
        timestamp_ms=5000,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
    )


def test_a_batch_without_a_producer_leaves_no_trace(log: Partition) -> None:
    log.append(Batch(-1, -1))

    assert len(log.state) == 0


def test_sequences_that_follow_each_other_are_taken(log: Partition) -> None:
    log.append(data(0, count=3))
    log.append(data(3, count=2))

    assert log.state.entry(1) == ProducerEntry(1, 0, 4, 4, 1, 1003, -1, -1)


@pytest.mark.parametrize("sequence", [0, 4, 6, LARGEST])
def test_a_gap_or_a_step_back_is_out_of_order(log: Partition, sequence: int) -> None:
    log.append(data(0, count=5))

    with pytest.raises(OutOfOrderSequence) as caught:
        log.append(data(sequence))

    assert caught.value.error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_start_anywhere(log: Partition) -> None:
    """Its state may have expired; refusing it would lock a live producer out."""
    log.append(data(41))
    log.append(data(42))

    with pytest.raises(OutOfOrderSequence):
        log.append(data(44))


def test_sequences_go_on_at_zero_after_the_largest(log: Partition) -> None:
    log.append(data(LARGEST - 1, count=2))
    log.append(data(0))

    assert log.append(data(LARGEST - 1, count=2)) == Duplicate(0, 1, 1000 + LARGEST - 1)


def test_one_batch_may_hold_the_wrap_around(log: Partition) -> None:
    wrapping = Batch(1, 0, LARGEST - 1, count=4)
    log.append(wrapping)

    entry = log.state.entry(1)
    assert entry is not None
    assert entry.last_sequence == 1
    assert log.append(wrapping) == Duplicate(0, 3, 0)
    assert log.append(data(2)) == []


def test_zero_follows_only_the_largest(log: Partition) -> None:
    log.append(data(LARGEST - 1))

    with pytest.raises(OutOfOrderSequence):
        log.append(data(0))


def test_a_repeated_batch_is_answered_with_its_old_offsets(log: Partition) -> None:
    log.append(Batch(9, 0, 0, count=10))
    log.append(data(0, count=3))
    log.append(data(3))

    assert log.append(data(0, count=3)) == Duplicate(10, 12, 1000)


def test_the_fifth_last_batch_is_still_recognised_and_no_older_one(log: Partition) -> None:
    for sequence in range(6):
        log.append(data(sequence))

    assert log.append(data(1)) == Duplicate(1, 1, 1001)
    with pytest.raises(OutOfOrderSequence):
        log.append(data(0))


def test_half_a_batch_is_no_duplicate(log: Partition) -> None:
    log.append(data(0, count=4))

    for half in (data(0, count=2), data(2, count=2)):
        with pytest.raises(OutOfOrderSequence):
            log.append(half)


def test_a_duplicate_of_an_older_epoch_is_fenced(log: Partition) -> None:
    log.append(data(0))
    log.append(data(0, epoch=1))

    with pytest.raises(InvalidProducerEpoch) as caught:
        log.append(data(0))

    assert caught.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_same_sequence_in_a_new_epoch_is_no_duplicate(log: Partition) -> None:
    log.append(data(0))

    assert log.append(data(0, epoch=1)) == []
    assert log.append(data(0, epoch=1)) == Duplicate(1, 1, 1000)


def test_a_new_epoch_starts_at_zero(log: Partition) -> None:
    log.append(data(0))

    with pytest.raises(OutOfOrderSequence):
        log.append(data(1, epoch=1))


def test_only_replication_may_bring_an_older_epoch(log: Partition) -> None:
    log.append(data(0, epoch=5))

    with pytest.raises(InvalidProducerEpoch):
        log.append(data(0, epoch=4), origin=COORDINATOR)
    log.append(data(7, epoch=4), origin=REPLICATION)

    entry = log.state.entry(1)
    assert entry is not None
    assert entry.epoch == 4


def test_a_coordinators_batches_need_no_sequence(log: Partition) -> None:
    commit = Batch(1, 0, -1, is_transactional=True)
    log.append(commit, origin=COORDINATOR)
    log.append(commit, origin=COORDINATOR)

    assert [batch.last_sequence for batch in log.state.batches(1)] == [-1, -1]


def test_a_batch_is_recognised_behind_one_without_a_sequence(log: Partition) -> None:
    log.append(data(0))
    log.append(Batch(1, 0, -1), origin=COORDINATOR)

    assert log.append(data(0)) == Duplicate(0, 0, 1000)


def test_the_batches_of_one_append_follow_each_other(log: Partition) -> None:
    log.append(data(0), data(1, count=2), Batch(2, 0, 0), data(3))

    assert [batch.last_sequence for batch in log.state.batches(1)] == [0, 2, 3]
    with pytest.raises(OutOfOrderSequence):
        log.append(data(4), data(6))


def test_a_batch_cannot_repeat_one_of_the_same_append(log: Partition) -> None:
    log.append(data(0))

    with pytest.raises(OutOfOrderSequence):
        log.append(data(1), data(1))


def test_a_refused_append_changes_nothing(log: Partition) -> None:
    log.append(transactional(0))
    before = log.state.snapshot()

    with pytest.raises(OutOfOrderSequence):
        log.append(transactional(1), transactional(0, producer_id=2), transactional(7))

    assert log.state.snapshot() == before
    assert log.state.first_undecided_offset() == 0
    assert log.state.entry(2) is None


def test_check_decides_and_changes_nothing(log: Partition) -> None:
    log.append(data(0))
    before = log.state.snapshot()

    assert log.state.check(data(1).header(), CLIENT) is None
    assert log.state.check(data(0).header(), CLIENT) == Duplicate(0, 0, 1000)
    with pytest.raises(OutOfOrderSequence):
        log.state.check(data(5).header(), CLIENT)
    assert log.state.snapshot() == before


def test_replay_takes_what_the_leader_took(log: Partition) -> None:
    """Whatever is in the log has been accepted once, also what we would refuse now."""
    log.state.replay(transactional(0).header(), 0)
    log.state.replay(data(9).header(), 1)
    log.state.replay(marker(is_commit=True, coordinator_epoch=4).header(), 2, control=(1, 4))
    log.state.replay(marker(is_commit=True, coordinator_epoch=3).header(), 3, control=(1, 3))

    assert log.state.entry(1) == ProducerEntry(1, 0, 9, 1, 0, 5000, 3, -1)


def test_a_transaction_is_unstable_from_its_first_offset_on(log: Partition) -> None:
    log.append(data(0, producer_id=9))
    log.append(transactional(0))
    log.append(transactional(1))

    assert log.state.first_unstable_offset() == 1


def test_an_end_is_unstable_until_the_high_watermark_passes_its_marker(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=True))

    assert log.state.first_undecided_offset() is None
    log.state.on_high_watermark(1)
    assert log.state.first_unstable_offset() == 0
    log.state.on_high_watermark(2)
    assert log.state.first_unstable_offset() is None


def test_the_log_start_settles_what_it_passes(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=True))

    log.state.on_log_start(2)

    assert log.state.first_unstable_offset() is None


def test_an_older_transaction_holds_back_the_stable_offset(log: Partition) -> None:
    log.append(transactional(0, producer_id=1))
    log.append(transactional(0, producer_id=2))
    log.end_transaction(marker(is_commit=True, producer_id=2))
    log.state.on_high_watermark(3)

    assert log.state.first_unstable_offset() == 0


def test_a_later_transaction_that_ended_first_is_unstable_after_the_older_one_settled(
    log: Partition,
) -> None:
    log.append(transactional(0, producer_id=1))
    log.append(transactional(0, producer_id=2))
    log.end_transaction(marker(is_commit=True, producer_id=1))
    log.end_transaction(marker(is_commit=True, producer_id=2))

    log.state.on_high_watermark(3)

    assert log.state.first_unstable_offset() == 1


def test_an_abort_tells_where_the_next_ongoing_transaction_begins(log: Partition) -> None:
    log.append(transactional(0, producer_id=1))
    log.append(transactional(0, producer_id=2))

    first = log.end_transaction(marker(is_commit=False, producer_id=1))
    second = log.end_transaction(marker(is_commit=False, producer_id=2))

    assert first == [CompletedTransaction(1, 0, 2, is_aborted=True, last_stable_offset=1)]
    assert second == [CompletedTransaction(2, 1, 3, is_aborted=True, last_stable_offset=4)]


def test_a_commit_is_reported_as_one(log: Partition) -> None:
    log.append(transactional(0))

    completed = log.end_transaction(marker(is_commit=True))

    assert completed == [CompletedTransaction(1, 0, 1, is_aborted=False, last_stable_offset=2)]


def test_a_marker_without_records_completes_nothing_but_counts_for_epochs(log: Partition) -> None:
    assert log.end_transaction(marker(is_commit=False, epoch=3, coordinator_epoch=7)) == []

    assert log.state.entry(1) == ProducerEntry(1, 3, -1, -1, 0, 5000, 7, -1)
    assert log.state.first_unstable_offset() is None


def test_a_marker_that_compaction_emptied_is_no_marker(log: Partition) -> None:
    log.append(transactional(0))
    emptied = marker(is_commit=True).header()._replace(record_count=0)

    assert log.state.replay(emptied, 1) is None

    assert log.state.first_undecided_offset() == 0


def test_the_first_batch_after_a_marker_starts_the_next_transaction(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=True))
    log.append(transactional(1))

    assert log.state.first_undecided_offset() == 2


def test_batches_are_still_recognised_after_their_transaction_ended(log: Partition) -> None:
    """With the timestamp of the batch, not that of the marker."""
    log.append(Batch(1, 0, 0, is_transactional=True, timestamp_ms=77))
    log.end_transaction(marker(is_commit=True))

    assert log.append(transactional(0)) == Duplicate(0, 0, 77)


def test_a_marker_with_a_new_epoch_makes_the_producer_start_at_zero(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=False, epoch=1))

    with pytest.raises(OutOfOrderSequence):
        log.append(transactional(1, epoch=1))
    assert log.append(transactional(0, epoch=1)) == []


def test_a_marker_with_a_new_epoch_fences_the_old_producer(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=False, epoch=1))

    with pytest.raises(InvalidProducerEpoch):
        log.append(transactional(1))


def test_a_write_outside_the_ongoing_transaction_is_refused(log: Partition) -> None:
    log.append(transactional(0))

    with pytest.raises(InvalidTransactionState) as caught:
        log.append(data(1))

    assert caught.value.error_code is ErrorCode.INVALID_TXN_STATE


def test_a_marker_of_an_older_producer_epoch_is_fenced(log: Partition) -> None:
    log.append(transactional(0, epoch=2))

    with pytest.raises(InvalidProducerEpoch):
        log.end_transaction(marker(is_commit=True, epoch=1))


def test_a_marker_of_an_older_coordinator_is_fenced(log: Partition) -> None:
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=True, coordinator_epoch=5))
    log.append(transactional(1))

    with pytest.raises(TransactionCoordinatorFenced) as caught:
        log.end_transaction(marker(is_commit=True, coordinator_epoch=4))

    assert caught.value.error_code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert log.state.first_undecided_offset() == 2


def test_version_1_takes_a_marker_of_the_current_epoch(log: Partition) -> None:
    log.append(transactional(0))

    assert len(log.end_transaction(marker(is_commit=True, version=1))) == 1


def test_version_2_refuses_a_marker_of_the_current_epoch_while_a_transaction_is_ongoing(
    log: Partition,
) -> None:
    """It belongs to the transaction before, and must not end this one (KIP-890)."""
    log.append(transactional(0))

    with pytest.raises(InvalidProducerEpoch):
        log.end_transaction(marker(is_commit=True, version=2))
    assert len(log.end_transaction(marker(is_commit=True, version=2, epoch=1))) == 1


def test_version_2_takes_the_last_marker_again_when_nothing_is_ongoing(log: Partition) -> None:
    """The coordinator repeats it when the first answer got lost."""
    log.append(transactional(0))
    log.end_transaction(marker(is_commit=True, version=2, epoch=1))

    assert log.end_transaction(marker(is_commit=True, version=2, epoch=1)) == []
    with pytest.raises(InvalidProducerEpoch):
        log.end_transaction(marker(is_commit=True, version=2, epoch=0))


def test_one_append_may_start_end_and_start_a_transaction(log: Partition) -> None:
    completed = log.append(
        transactional(0), marker(is_commit=False), transactional(1), origin=REPLICATION
    )

    assert completed == [CompletedTransaction(1, 0, 1, is_aborted=True, last_stable_offset=2)]
    assert log.state.first_undecided_offset() == 2


def test_an_idle_producer_expires_at_its_time_and_not_before(log: Partition) -> None:
    log.append(Batch(1, 0, 0, timestamp_ms=100))
    log.append(Batch(2, 0, 0, timestamp_ms=200))

    assert log.state.expire(1099, 1000) == 0
    assert log.state.expire(1100, 1000) == 1
    assert log.state.entry(1) is None
    assert log.state.entry(2) is not None
    assert log.state.expire(1200, 1000) == 1


def test_a_producer_with_a_transaction_never_expires(log: Partition) -> None:
    log.append(Batch(1, 0, 0, is_transactional=True, timestamp_ms=100))

    assert log.state.expire(10**9, 1000) == 0
    log.end_transaction(marker(is_commit=True))
    assert log.state.expire(5999, 1000) == 0
    assert log.state.expire(6000, 1000) == 1


def test_an_expired_producer_may_start_anywhere(log: Partition) -> None:
    log.append(data(0))
    log.state.expire(10**9, 1000)

    assert log.append(data(17)) == []


def test_a_late_transaction_is_one_that_outlived_every_timeout(log: Partition) -> None:
    assert not log.state.has_late_transaction(10**9, 60_000)
    log.append(Batch(1, 0, 0, is_transactional=True, timestamp_ms=1000))

    latest_ms = 1000 + 60_000 + 5 * 60_000
    assert not log.state.has_late_transaction(latest_ms, 60_000)
    assert log.state.has_late_transaction(latest_ms + 1, 60_000)


def test_a_snapshot_brings_back_producers_and_transactions(log: Partition) -> None:
    log.append(data(0, count=3))
    log.append(data(3))
    log.append(transactional(0, producer_id=2))
    restored = ProducerState()

    restored.load(log.state.snapshot(), now_ms=2000, expiration_ms=10**6)

    assert list(restored.entries()) == list(log.state.entries())
    assert restored.first_unstable_offset() == 4
    assert restored.check(data(3).header(), CLIENT) == Duplicate(3, 3, 1003)


def test_only_the_last_batch_survives_in_a_snapshot(log: Partition) -> None:
    log.append(data(0))
    log.append(data(1))
    restored = ProducerState()
    restored.load(log.state.snapshot(), now_ms=2000, expiration_ms=10**6)

    with pytest.raises(OutOfOrderSequence):
        restored.check(data(0).header(), CLIENT)


def test_a_producer_without_batches_comes_back_without_any(log: Partition) -> None:
    log.end_transaction(marker(is_commit=True, epoch=4))
    restored = ProducerState()
    restored.load(log.state.snapshot(), now_ms=5000, expiration_ms=10**6)

    assert restored.batches(1) == []
    with pytest.raises(OutOfOrderSequence):
        restored.check(data(1, epoch=4).header(), CLIENT)


def test_loading_leaves_out_what_has_expired_but_no_transaction(log: Partition) -> None:
    log.append(Batch(1, 0, 0, timestamp_ms=0))
    log.append(Batch(2, 0, 0, is_transactional=True, timestamp_ms=0))
    log.append(Batch(3, 0, 0, timestamp_ms=1))
    restored = ProducerState()

    restored.load(log.state.snapshot(), now_ms=1000, expiration_ms=1000)

    assert [entry.producer_id for entry in restored.entries()] == [2, 3]


def test_loading_puts_ongoing_transactions_in_log_order(log: Partition) -> None:
    log.append(data(0, producer_id=1))
    log.append(transactional(0, producer_id=2))
    log.append(transactional(1, producer_id=1))
    restored = ProducerState()
    restored.load(log.state.snapshot(), now_ms=2000, expiration_ms=10**6)

    ended = restored.replay(marker(is_commit=False, producer_id=2).header(), 3, control=(0, 0))

    assert ended == CompletedTransaction(2, 1, 3, is_aborted=True, last_stable_offset=2)


def test_loading_replaces_everything(log: Partition) -> None:
    log.append(transactional(0))
    log.append(transactional(0, producer_id=2))
    log.end_transaction(marker(is_commit=True, producer_id=2))

    log.state.load(b"", now_ms=0, expiration_ms=1000)

    assert len(log.state) == 0
    assert log.state.first_unstable_offset() is None
    assert log.state.first_undecided_offset() is None


def test_clearing_forgets_everything(log: Partition) -> None:
    log.append(transactional(0))
    log.append(transactional(0, producer_id=2))
    log.end_transaction(marker(is_commit=True, producer_id=2))

    log.state.clear()

    assert len(log.state) == 0
    assert log.state.snapshot() == b""
    assert log.state.first_unstable_offset() is None
    assert log.state.first_undecided_offset() is None


def test_an_entry_stays_small_however_much_its_producer_writes(log: Partition) -> None:
    sizes = []
    for sequence in range(20):
        log.append(data(sequence))
        sizes.append(len(log.state.batches(1)))

    assert sizes[:5] == [1, 2, 3, 4, 5]
    assert set(sizes[5:]) == {5}
    assert all(a.last_sequence + 1 == b.last_sequence for a, b in pairwise(log.state.batches(1)))
