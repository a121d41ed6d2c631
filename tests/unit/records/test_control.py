"""Control records: those of ours survive, those of others are understood or refused."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.batch import BatchFault, CorruptBatch, check_batch, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.control import (
    ControlType,
    EndTransaction,
    control_key,
    control_type,
    end_transaction_batch,
    end_transaction_in,
    parse_control,
)
from barnabas_core.records.quorum_control import parse_quorum_control, quorum_batch
from barnabas_core.records.record import Record, iter_records
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.leader_change_message import LeaderChangeMessage, Voter
from barnabas_core.wire.messages.snapshot_header_record import SnapshotHeaderRecord

TIME_MS = 1_700_000_000_000
INT16 = st.integers(-(2**15), 2**15 - 1)


def record(kind: int, value: bytes | None, key_version: int = 0) -> Record:
    return Record(0, TIME_MS, struct.pack(">hh", key_version, kind), value)


@given(st.booleans(), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 32767))
def test_a_marker_keeps_its_decision_and_its_producer(
    commit: bool, coordinator_epoch: int, producer_id: int, producer_epoch: int
) -> None:
    batch = end_transaction_batch(
        commit, coordinator_epoch, producer_id, producer_epoch, TIME_MS, base_offset=12
    )

    header = parse_header(batch)
    check_batch(batch, 0, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
    assert (header.base_offset, header.max_timestamp) == (12, TIME_MS)
    marker = end_transaction_in(batch, 0, header)
    assert marker is not None
    assert (marker.is_commit, marker.coordinator_epoch) == (commit, coordinator_epoch)


def test_a_marker_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    later = record(ControlType.COMMIT, struct.pack(">hiq", 9, 17, 1), key_version=9)

    assert parse_control(later) == EndTransaction(ControlType.COMMIT, 17)


def test_a_type_of_a_later_kafka_is_none_of_ours() -> None:
    unknown = record(99, b"anything")

    assert control_type(unknown.key) is None
    assert parse_control(unknown) is None
    assert parse_quorum_control(unknown) is None


def test_markers_and_quorum_records_are_not_confused() -> None:
    [leader] = iter_records(quorum_batch([LeaderChangeMessage()], leader_epoch=1, timestamp_ms=0))
    [marker] = iter_records(end_transaction_batch(True, 1, 2, 3, TIME_MS))

    assert parse_control(leader) is None
    assert parse_quorum_control(marker) is None


@pytest.mark.parametrize(
    "bad",
    [
        Record(0, TIME_MS, None, b""),
        Record(0, TIME_MS, b"\x00\x00\x00", b""),
        record(ControlType.COMMIT, b"\x00\x00\x00\x00\x00\x01", key_version=-1),
        record(ControlType.COMMIT, None),
        record(ControlType.COMMIT, b"\x00"),
        record(ControlType.COMMIT, b"\x00\x00\x00\x00\x00"),
        record(ControlType.ABORT, b"\xff\xff\x00\x00\x00\x01"),
    ],
)
def test_a_damaged_marker_is_refused(bad: Record) -> None:
    with pytest.raises(CorruptBatch) as caught:
        parse_control(bad)

    assert caught.value.fault is BatchFault.BAD_CONTROL_RECORD


@pytest.mark.parametrize(
    "bad",
    [
        record(ControlType.LEADER_CHANGE, None),
        record(ControlType.LEADER_CHANGE, b"\x00\x00\x00"),
        record(ControlType.KRAFT_VOTERS, b"\x00\x00\xff\xff\xff\xff\x0f"),
        record(ControlType.SNAPSHOT_HEADER, b"\xff\xff"),
    ],
)
def test_a_damaged_quorum_record_is_refused(bad: Record) -> None:
    with pytest.raises(CorruptBatch) as caught:
        parse_quorum_control(bad)

    assert caught.value.fault is BatchFault.BAD_CONTROL_RECORD


def test_an_empty_control_batch_has_no_marker() -> None:
    batch = end_transaction_batch(True, 1, 2, 3, TIME_MS)
    header = parse_header(batch)._replace(record_count=0, batch_length=49)

    assert end_transaction_in(batch[:61], 0, header) is None


def test_a_quorum_batch_numbers_its_records() -> None:
    messages = (LeaderChangeMessage(0, 3, [Voter(3)], []), KRaftVersionRecord(0, 1))

    batch = quorum_batch(messages, leader_epoch=4, timestamp_ms=TIME_MS, base_offset=10)

    header = parse_header(batch)
    check_batch(batch, 0, header)
    assert (header.is_control, header.is_transactional) == (True, False)
    assert (header.partition_leader_epoch, header.last_offset) == (4, 11)
    leader, version = map(parse_quorum_control, iter_records(batch))
    assert isinstance(leader, LeaderChangeMessage)
    assert isinstance(version, KRaftVersionRecord)
    assert (leader.leader_id, version.kraft_version) == (3, 1)


def test_directory_ids_of_voters_survive_at_version_1() -> None:
    message = LeaderChangeMessage(1, 3, [Voter(3, bytes(range(16)))], [])

    [written] = iter_records(quorum_batch([message], leader_epoch=4, timestamp_ms=TIME_MS))

    read = parse_quorum_control(written)
    assert isinstance(read, LeaderChangeMessage)
    assert read.voters[0].voter_directory_id == bytes(range(16))


def test_a_quorum_record_of_a_later_version_is_read_as_the_latest_known() -> None:
    later = record(ControlType.SNAPSHOT_HEADER, struct.pack(">hqb", 5, TIME_MS, 0) + b"more")

    read = parse_quorum_control(later)

    assert isinstance(read, SnapshotHeaderRecord)
    assert read.last_contained_log_timestamp == TIME_MS


@given(st.sampled_from(ControlType), st.binary(max_size=60))
def test_rubbish_raises_nothing_but_corrupt_batch(kind: ControlType, value: bytes) -> None:
    batch = build_batch([(control_key(kind), value)], is_control=True)
    [written] = iter_records(batch)

    for parse in (parse_control, parse_quorum_control):
        with suppress(CorruptBatch):
            parse(written)
