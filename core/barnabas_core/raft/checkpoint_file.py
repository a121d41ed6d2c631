"""A snapshot's file, as Kafka writes it: control batch, data batches, control batch (KIP-630).

The head is one batch: the snapshot header with the time of the last record that went into the
snapshot, and with kraft.version 1 the version and the voters (KIP-853). The foot is a batch with
nothing but the footer: a file without it is not whole. Offsets count from 0 within the file, and
every batch carries the epoch of the snapshot's name.

Values are metadata records, which nobody here looks into.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.raft.control_mapping import voters_of_message, voters_to_message
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.raft.voter import VoterSet
from barnabas_core.records.batch import BatchHeader, check_batch, parse_header, split_batches
from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.error import CorruptBatch
from barnabas_core.records.quorum_control import QuorumMessage, parse_quorum_control, quorum_batch
from barnabas_core.records.record import iter_records
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.snapshot_footer_record import SnapshotFooterRecord
from barnabas_core.wire.messages.snapshot_header_record import SnapshotHeaderRecord
from barnabas_core.wire.messages.voters_record import VotersRecord

SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".checkpoint.part"
DELETED_SUFFIX = ".checkpoint.deleted"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class CorruptCheckpoint(Exception):
    """The file is not a whole snapshot."""


def checkpoint_name(snapshot_id: SnapshotId) -> str:
    return f"{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}{SUFFIX}"


def parse_checkpoint_name(name: str) -> SnapshotId | None:
    """The snapshot that a file of this name holds; None if it is not a whole snapshot's."""
    match = _NAME.fullmatch(name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


class CheckpointHead(NamedTuple):
    kraft_version: int | None
    """None: the head says nothing of it, which means 0."""
    voters: VoterSet | None
    last_appended_at_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointContent:
    kraft_version: int | None
    voters: VoterSet | None
    last_appended_at_ms: int
    batches: list[list[memoryview]]


# --- writing


@dataclass(slots=True, kw_only=True)
class CheckpointWriter:
    """The parts of a file, in the order in which they are asked for: head, data, foot."""

    epoch: int
    timestamp_ms: int
    _next_offset: int = field(default=0, init=False)

    def head(self, head: CheckpointHead) -> bytes:
        messages: list[QuorumMessage] = [SnapshotHeaderRecord(0, head.last_appended_at_ms)]
        if head.kraft_version:
            messages.append(KRaftVersionRecord(0, head.kraft_version))
            if head.voters is not None:
                messages.append(voters_to_message(head.voters))
        return self._controls(messages)

    def data(self, values: Sequence[Buffer]) -> bytes:
        assert values, "a batch has records"
        builder = BatchBuilder(base_offset=self._next_offset, leader_epoch=self.epoch)
        for value in values:
            builder.append(None, value, self.timestamp_ms)
        self._next_offset += len(values)
        return bytes(builder.build())

    def foot(self) -> bytes:
        return self._controls([SnapshotFooterRecord(0)])

    def _controls(self, messages: Sequence[QuorumMessage]) -> bytes:
        batch = quorum_batch(
            messages,
            leader_epoch=self.epoch,
            timestamp_ms=self.timestamp_ms,
            base_offset=self._next_offset,
        )
        self._next_offset += len(messages)
        return bytes(batch)


def build_checkpoint(
    batches: Iterable[Sequence[Buffer]],
    *,
    last_appended_at_ms: int,
    timestamp_ms: int,
    kraft_version: int | None,
    voters: VoterSet | None,
    epoch: int = 0,
) -> Iterator[bytes]:
    """The whole file in parts; each of `batches` becomes one batch of it."""
    writer = CheckpointWriter(epoch=epoch, timestamp_ms=timestamp_ms)
    yield writer.head(CheckpointHead(kraft_version, voters, last_appended_at_ms))
    for values in batches:
        yield writer.data(values)
    yield writer.foot()


# --- reading


def read_head(data: Buffer) -> CheckpointHead:
    """The head at the start of `data`, which may end anywhere after it."""
    return _parse_head(data, *_first_batch(data))


def read_values(data: Buffer) -> Iterator[list[memoryview]]:
    """The data of a whole file, batch by batch; `CorruptCheckpoint` where it turns out damaged.

    What was handed out before that must not be used.
    """
    batches = _split(data)
    _parse_head(data, *batches[0])
    for position, header in batches[1:-1]:
        _check(data, position, header)
        if header.is_control:
            raise CorruptCheckpoint(f"a control batch at byte {position}")
        yield _values(data, position, header)
    _parse_foot(data, *batches[-1])


def read_checkpoint(data: Buffer) -> CheckpointContent:
    head = read_head(data)
    return CheckpointContent(*head, list(read_values(data)))


def _first_batch(data: Buffer) -> tuple[int, BatchHeader]:
    try:
        return 0, parse_header(data)
    except CorruptBatch as error:
        raise CorruptCheckpoint(str(error)) from error


def _split(data: Buffer) -> list[tuple[int, BatchHeader]]:
    try:
        batches = split_batches(data)
    except CorruptBatch as error:
        raise CorruptCheckpoint(str(error)) from error
    if len(batches) < 2:
        raise CorruptCheckpoint("head or foot is missing")
    return batches


def _check(data: Buffer, position: int, header: BatchHeader) -> None:
    try:
        check_batch(data, position, header)
    except CorruptBatch as error:
        raise CorruptCheckpoint(str(error)) from error


def _values(data: Buffer, position: int, header: BatchHeader) -> list[memoryview]:
    try:
        values = [record.value for record in iter_records(data, position, header=header)]
    except CorruptBatch as error:
        raise CorruptCheckpoint(str(error)) from error
    if any(value is None for value in values):
        raise CorruptCheckpoint(f"a record without a value in the batch at byte {position}")
    return [memoryview(value) for value in values if value is not None]


def _messages(data: Buffer, position: int, header: BatchHeader) -> list[QuorumMessage | None]:
    _check(data, position, header)
    if not header.is_control:
        raise CorruptCheckpoint(f"no control batch at byte {position}")
    try:
        records = iter_records(data, position, header=header)
        return [parse_quorum_control(record) for record in records]
    except CorruptBatch as error:
        raise CorruptCheckpoint(str(error)) from error


def _parse_head(data: Buffer, position: int, header: BatchHeader) -> CheckpointHead:
    messages = _messages(data, position, header)
    first = messages[0] if messages else None
    if not isinstance(first, SnapshotHeaderRecord):
        raise CorruptCheckpoint("it does not begin with a snapshot header")
    kraft_version: int | None = None
    voters: VoterSet | None = None
    for message in messages:
        if isinstance(message, KRaftVersionRecord):
            kraft_version = message.kraft_version
        elif isinstance(message, VotersRecord):
            voters = voters_of_message(message)
    return CheckpointHead(kraft_version, voters, first.last_contained_log_timestamp)


def _parse_foot(data: Buffer, position: int, header: BatchHeader) -> None:
    messages = _messages(data, position, header)
    if len(messages) != 1 or not isinstance(messages[0], SnapshotFooterRecord):
        raise CorruptCheckpoint("it does not end with a snapshot footer")
