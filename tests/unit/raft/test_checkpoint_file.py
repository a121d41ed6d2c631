"""Snapshot files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft.checkpoint_file import (
    CorruptCheckpoint,
    build_checkpoint,
    checkpoint_name,
    parse_checkpoint_name,
    read_checkpoint,
    read_head,
)
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.raft.voter import VoterSet
from barnabas_core.records.batch import split_batches
from tests.support.raft_messages import voter_sets

BATCHES = [[b"one", b"two"], [b"three"]]
batches = st.lists(st.lists(st.binary(max_size=9), min_size=1, max_size=4), max_size=4)


def written(epoch: int = 4) -> bytes:
    parts = build_checkpoint(
        BATCHES,
        last_appended_at_ms=11,
        timestamp_ms=12,
        kraft_version=1,
        voters=VoterSet(),
        epoch=epoch,
    )
    return b"".join(parts)


@given(batches, st.none() | voter_sets, st.integers(0, 2**40))
def test_what_is_written_is_read_again(
    data: list[list[bytes]], voters: VoterSet | None, at_ms: int
) -> None:
    level = None if voters is None else 1
    parts = build_checkpoint(
        data, last_appended_at_ms=at_ms, timestamp_ms=1, kraft_version=level, voters=voters
    )

    content = read_checkpoint(b"".join(parts))

    assert content.batches == data
    assert (content.kraft_version, content.voters) == (level, voters)
    assert content.last_appended_at_ms == at_ms


def test_offsets_are_dense_and_the_epoch_is_that_of_the_name() -> None:
    headers = [header for _, header in split_batches(written(epoch=4))]

    assert [header.base_offset for header in headers] == [0, 3, 5, 6]
    assert {header.partition_leader_epoch for header in headers} == {4}
    assert [header.is_control for header in headers] == [True, False, False, True]


def test_kraft_version_0_leaves_no_voters_in_the_head() -> None:
    parts = build_checkpoint(
        [], last_appended_at_ms=0, timestamp_ms=1, kraft_version=0, voters=VoterSet()
    )

    content = read_checkpoint(b"".join(parts))

    assert (content.kraft_version, content.voters) == (None, None)


def test_a_file_cut_anywhere_is_not_whole() -> None:
    data = written()

    for size in range(len(data)):
        with pytest.raises(CorruptCheckpoint):
            read_checkpoint(data[:size])


def test_a_damaged_byte_in_any_batch_is_found() -> None:
    for position, header in split_batches(written()):
        data = bytearray(written())
        data[position + header.size_bytes - 1] ^= 1

        with pytest.raises(CorruptCheckpoint):
            read_checkpoint(data)


def test_a_file_without_its_foot_is_not_whole() -> None:
    data = written()
    foot_at = split_batches(data)[-1][0]

    with pytest.raises(CorruptCheckpoint, match="control batch"):
        read_checkpoint(data[:foot_at])


def test_the_head_can_be_read_from_the_start_of_a_file() -> None:
    first_bytes = split_batches(written())[0][1].size_bytes

    head = read_head(written()[: first_bytes + 5])

    assert head.last_appended_at_ms == 11


def test_names_are_kafkas() -> None:
    name = checkpoint_name(SnapshotId(7, 3))

    assert name == "00000000000000000007-0000000003.checkpoint"
    assert parse_checkpoint_name(name) == SnapshotId(7, 3)
    assert parse_checkpoint_name(name + ".part") is None
    assert parse_checkpoint_name("bootstrap.checkpoint") is None
