"""Leader epochs: examples of each rule, then a log that knows the epoch of every record."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.epochs.leader_epoch import LeaderEpochCache

UNDEFINED = (-1, -1)


def test_an_empty_cache_knows_nothing() -> None:
    cache = LeaderEpochCache()

    assert (cache.latest_epoch, cache.previous_epoch) == (-1, -1)
    assert cache.entries == []
    assert cache.epoch_for(0) == -1
    assert cache.end_offset_for(0, 5) == UNDEFINED
    assert cache.end_offset_for(-1, 5) == UNDEFINED


def test_the_latest_epoch_ends_at_the_log_end() -> None:
    cache = LeaderEpochCache([(2, 6)])

    assert cache.end_offset_for(2, 30) == (2, 30)


def test_an_earlier_epoch_ends_where_the_next_one_starts() -> None:
    cache = LeaderEpochCache([(1, 0), (2, 6), (4, 10)])

    assert cache.end_offset_for(1, 30) == (1, 6)
    assert cache.end_offset_for(2, 30) == (2, 10)


def test_an_epoch_that_wrote_nothing_is_answered_with_the_one_before() -> None:
    cache = LeaderEpochCache([(1, 0), (2, 6), (4, 10)])

    assert cache.end_offset_for(3, 30) == (2, 10)


def test_an_epoch_from_before_the_log_starts_is_answered_with_its_start() -> None:
    cache = LeaderEpochCache([(5, 10), (6, 20)])

    assert cache.end_offset_for(3, 30) == (3, 10)


def test_an_epoch_newer_than_any_is_undefined() -> None:
    cache = LeaderEpochCache([(5, 10)])

    assert cache.end_offset_for(6, 30) == UNDEFINED


def test_no_epoch_is_undefined_even_if_epochs_are_known() -> None:
    cache = LeaderEpochCache([(5, 10)])

    assert cache.end_offset_for(-1, 30) == UNDEFINED


def test_an_epoch_keeps_its_first_start() -> None:
    cache = LeaderEpochCache()

    assert cache.assign(2, 6)
    assert not cache.assign(2, 6)
    assert not cache.assign(2, 9)
    assert cache.entries == [(2, 6)]


def test_an_epoch_that_starts_earlier_than_it_did_moves() -> None:
    cache = LeaderEpochCache([(1, 0), (2, 6)])

    assert cache.assign(2, 4)
    assert cache.entries == [(1, 0), (2, 4)]


def test_an_epoch_that_wrote_nothing_gives_way_to_the_next() -> None:
    cache = LeaderEpochCache([(1, 0), (2, 6)])

    assert cache.assign(3, 6)
    assert cache.entries == [(1, 0), (3, 6)]
    assert cache.previous_epoch == 1


def test_an_epoch_that_goes_back_removes_the_later_ones() -> None:
    cache = LeaderEpochCache([(1, 0), (5, 6), (7, 12)])

    assert cache.assign(3, 9)
    assert cache.entries == [(1, 0), (3, 9)]


def test_a_start_that_goes_back_removes_the_later_ones() -> None:
    cache = LeaderEpochCache([(1, 0), (2, 6), (3, 12)])

    assert cache.assign(4, 5)
    assert cache.entries == [(1, 0), (4, 5)]


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 0), (0, -1)])
def test_a_negative_epoch_or_offset_is_a_broken_invariant(epoch: int, offset: int) -> None:
    with pytest.raises(AssertionError):
        LeaderEpochCache().assign(epoch, offset)


def test_truncation_at_the_end_keeps_the_epoch_that_spans_it() -> None:
    cache = LeaderEpochCache([(2, 6), (3, 8), (4, 11)])

    assert cache.truncate_from_end(9)
    assert cache.entries == [(2, 6), (3, 8)]
    assert not cache.truncate_from_end(9)


def test_truncation_at_the_end_removes_an_epoch_that_starts_there() -> None:
    cache = LeaderEpochCache([(2, 6), (3, 8)])

    assert cache.truncate_from_end(8)
    assert cache.entries == [(2, 6)]


def test_truncation_at_the_start_moves_the_epoch_that_spans_it() -> None:
    cache = LeaderEpochCache([(2, 6), (3, 8), (4, 11)])

    assert cache.truncate_from_start(9)
    assert cache.entries == [(3, 9), (4, 11)]


def test_truncation_at_the_start_keeps_an_epoch_that_starts_there() -> None:
    cache = LeaderEpochCache([(2, 6), (3, 8), (4, 11)])

    assert cache.truncate_from_start(8)
    assert cache.entries == [(3, 8), (4, 11)]
    assert not cache.truncate_from_start(8)


def test_truncation_at_the_start_of_everything_keeps_the_last_epoch() -> None:
    """The log is empty then, but its next leader must not look older than it is."""
    cache = LeaderEpochCache([(2, 6), (3, 8)])

    assert cache.truncate_from_start(20)
    assert cache.entries == [(3, 20)]


def test_truncation_before_the_first_epoch_changes_nothing() -> None:
    cache = LeaderEpochCache([(2, 6)])

    assert not cache.truncate_from_start(5)
    assert cache.entries == [(2, 6)]


def test_the_epoch_of_an_offset_is_the_one_that_spans_it() -> None:
    cache = LeaderEpochCache([(2, 6), (3, 8)])

    assert [cache.epoch_for(offset) for offset in (5, 6, 7, 8, 100)] == [-1, 2, 2, 3, 3]


def test_clearing_forgets_every_epoch() -> None:
    cache = LeaderEpochCache([(2, 6)])
    cache.clear()

    assert cache.entries == []


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12))
def test_entries_always_rise_and_the_last_word_stands(assigned: list[tuple[int, int]]) -> None:
    cache = LeaderEpochCache()

    for epoch, start_offset in assigned:
        before = cache.entries
        changed = cache.assign(epoch, start_offset)
        assert changed == (cache.entries != before)
        assert cache.latest_epoch == epoch
        assert cache.entries[-1].start_offset <= start_offset
        for earlier, later in pairwise(cache.entries):
            assert earlier.epoch < later.epoch
            assert earlier.start_offset < later.start_offset


@dataclass(frozen=True)
class Write:
    epoch_step: int
    count: int


@dataclass(frozen=True)
class TruncateEnd:
    by: int


@dataclass(frozen=True)
class AdvanceStart:
    by: int


steps = st.lists(
    st.one_of(
        st.builds(Write, st.integers(0, 3), st.integers(1, 4)),
        st.builds(TruncateEnd, st.integers(0, 6)),
        st.builds(AdvanceStart, st.integers(0, 6)),
    ),
    max_size=25,
)


class WholeLog:
    """Every record's epoch, by offset; deleted ones are below `start`."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.start = 0
        self.cache = LeaderEpochCache()

    @property
    def end(self) -> int:
        return len(self.epochs)

    def run(self, step: Write | TruncateEnd | AdvanceStart) -> None:
        match step:
            case Write(epoch_step, count):
                epoch = (self.epochs[-1] if self.epochs else 0) + epoch_step
                self.cache.assign(epoch, self.end)
                self.epochs += [epoch] * count
            case TruncateEnd(by) if self.end > self.start:
                # To its start or below a log is not truncated but thrown away.
                end = max(self.start + 1, self.end - by)
                del self.epochs[end:]
                self.cache.truncate_from_end(end)
            case AdvanceStart(by):
                self.start = min(self.end, self.start + by)
                self.cache.truncate_from_start(self.start)

    def known(self) -> list[int]:
        """Epochs with a record that is left; of an empty log the last one that wrote."""
        return sorted(set(self.epochs[self.start :] or self.epochs[-1:]))

    def end_of(self, epoch: int) -> tuple[int, int]:
        known = self.known()
        if epoch < 0 or not known or epoch > known[-1]:
            return UNDEFINED
        if epoch == known[-1]:
            return epoch, self.end
        newer = [at for at in range(self.start, self.end) if self.epochs[at] > epoch]
        before = [each for each in known if each <= epoch]
        return max(before, default=epoch), min(newer, default=self.start)


@given(steps=steps)
def test_it_answers_like_a_log_that_knows_the_epoch_of_every_record(
    steps: list[Write | TruncateEnd | AdvanceStart],
) -> None:
    log = WholeLog()

    for step in steps:
        log.run(step)
        newest = max([*log.epochs, 0]) + 2
        for epoch in range(-1, newest):
            assert log.cache.end_offset_for(epoch, log.end) == log.end_of(epoch)
        for offset in range(log.start, log.end):
            assert log.cache.epoch_for(offset) == log.epochs[offset]
        assert LeaderEpochCache(log.cache.entries).entries == log.cache.entries
