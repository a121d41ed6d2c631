"""Aborted transactions: the file, and what a reader of a range is told."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.index.transaction_index import (
    ENTRY_BYTES,
    AbortedTransaction,
    CorruptTransactionIndex,
    check_aborted,
    collect_aborted,
    decode_aborted,
    encode_aborted,
    overlapping_aborted,
)
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.wire.codec import encode
from barnabas_core.wire.messages.aborted_txn import AbortedTxn
from tests.support.producer_history import Batch

int64 = st.integers(-(2**63), 2**63 - 1)
aborted_entries = st.builds(AbortedTransaction, int64, int64, int64, int64)


def test_an_entry_is_what_kafka_writes() -> None:
    entry = encode_aborted(AbortedTransaction(1, 2, 3, 4))

    assert entry.hex() == (
        "00000000000000000001000000000000000200000000000000030000000000000004"
    )  # fmt: skip
    assert len(entry) == ENTRY_BYTES == 34


@given(entries=st.lists(aborted_entries, max_size=5))
def test_entries_come_back_as_they_were_written(entries: list[AbortedTransaction]) -> None:
    assert decode_aborted(b"".join(map(encode_aborted, entries))) == entries


@given(entry=aborted_entries)
def test_the_layout_is_that_of_the_protocol_table(entry: AbortedTransaction) -> None:
    assert encode_aborted(entry) == b"\0\0" + encode(AbortedTxn(*entry), 0)


def test_half_an_entry_is_corrupt() -> None:
    with pytest.raises(CorruptTransactionIndex, match="35 bytes"):
        decode_aborted(bytes(ENTRY_BYTES + 1))


def test_an_unknown_version_is_corrupt() -> None:
    entries = encode_aborted(AbortedTransaction(1, 2, 3, 4)) + b"\0\1" + bytes(32)

    with pytest.raises(CorruptTransactionIndex, match="entry 1 has version 1"):
        decode_aborted(entries)


def test_a_sound_index_passes_the_check() -> None:
    entries = [AbortedTransaction(1, 5, 10, 11), AbortedTransaction(2, 7, 12, 13)]

    check_aborted(entries, base_offset=10, next_offset=13)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([AbortedTransaction(1, 5, 9, 10)], "not in order"),
        ([AbortedTransaction(1, 5, 12, 13), AbortedTransaction(2, 6, 12, 13)], "not in order"),
        ([AbortedTransaction(1, 13, 12, 13)], "begins after it ends"),
        ([AbortedTransaction(1, 5, 20, 21)], "is not written"),
    ],
)
def test_an_entry_that_cannot_be_in_this_segment_is_corrupt(
    entries: list[AbortedTransaction], reason: str
) -> None:
    with pytest.raises(CorruptTransactionIndex, match=reason):
        check_aborted(entries, base_offset=10, next_offset=20)


def test_an_overlap_of_one_offset_counts_at_either_end() -> None:
    entries = [AbortedTransaction(1, 10, 20, 21)]

    assert collect_aborted(entries, 20, 30).aborted == entries
    assert collect_aborted(entries, 21, 30).aborted == []
    assert collect_aborted(entries, 0, 11).aborted == entries
    assert collect_aborted(entries, 0, 10).aborted == []


def test_the_search_ends_once_no_open_transaction_can_reach_the_range() -> None:
    """At the abort that ended at 20 nothing before 15 was open any more."""
    entries = [AbortedTransaction(1, 10, 20, 15)]

    assert collect_aborted(entries, 0, 15).is_complete
    assert not collect_aborted(entries, 0, 16).is_complete


def test_later_segments_are_not_read_when_the_matter_is_settled() -> None:
    first = [AbortedTransaction(1, 10, 20, 21)]

    def read_segments() -> Iterator[list[AbortedTransaction]]:
        yield first
        raise AssertionError("read for nothing")

    assert overlapping_aborted(read_segments(), 0, 21) == first


def test_what_a_reader_is_told_is_in_the_order_of_first_offsets() -> None:
    outer = AbortedTransaction(1, 0, 9, 10)
    inner = AbortedTransaction(2, 3, 5, 0)

    assert overlapping_aborted([[inner], [outer]], 0, 10) == [outer, inner]


@dataclass(frozen=True)
class Write:
    producer_id: int
    ends: bool | None
    """None: data; True: commit; False: abort."""
    starts_segment: bool


writes = st.lists(
    st.builds(Write, st.integers(1, 4), st.sampled_from([None, None, True, False]), st.booleans()),
    max_size=40,
)


@given(writes=writes, start=st.integers(0, 40), length=st.integers(0, 40))
def test_a_reader_is_told_of_every_abort_in_its_range_and_of_no_other(
    writes: list[Write], start: int, length: int
) -> None:
    state = ProducerState()
    segments: list[list[AbortedTransaction]] = [[]]
    base_offsets = [0]
    everything = []
    for offset, write in enumerate(writes):
        if write.starts_segment and offset:
            segments.append([])
            base_offsets.append(offset)
        batch = Batch(
            write.producer_id,
            0,
            is_transactional=True,
            is_commit=write.ends,
            coordinator_epoch=0,
        )
        completed = state.replay(batch.header(), offset, control=batch.control)
        if completed is not None and completed.is_aborted:
            aborted = AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
            segments[-1].append(aborted)
            everything.append(aborted)
    undecided = state.first_undecided_offset()
    readable = len(writes) if undecided is None else undecided
    up_to = min(start + length, readable)
    first = max(index for index, base in enumerate(base_offsets) if base <= start)

    told = overlapping_aborted(segments[first:], start, up_to)

    assert told == sorted(
        (each for each in everything if each.first_offset < up_to and each.last_offset >= start),
        key=lambda each: each.first_offset,
    )
