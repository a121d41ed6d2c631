"""Record batch v2 as the broker sees it: a 61-byte header in front of bytes that it does not open.

    base_offset int64 | batch_length int32 | partition_leader_epoch int32 | magic int8 | crc uint32
    | attributes int16 | last_offset_delta int32 | base_timestamp int64 | max_timestamp int64 |
    producer_id int64 | producer_epoch int16 | base_sequence int32 | record_count int32 | records

`batch_length` counts what follows it. The CRC-32C covers everything from `attributes` on, so that
a leader can put in the offset and its epoch without touching it. Nothing here costs time per
record: one unpack and one CRC per batch.
"""

import struct
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.checksum import crc32c
from barnabas_core.records.compression import Compression
from barnabas_core.records.error import BatchFault, CorruptBatch

__all__ = [
    "CRC_POSITION",
    "HEADER_BYTES",
    "MAGIC",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchFault",
    "BatchHeader",
    "CorruptBatch",
    "check_batch",
    "check_produced_batch",
    "next_sequence",
    "parse_header",
    "patch_append_time",
    "patch_offset",
    "split_batches",
]

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size
MAGIC = 2
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
# `batch_length` does not count itself and the offset before it.
LENGTH_OVERHEAD_BYTES = 12
_LENGTH_MIN = HEADER_BYTES - LENGTH_OVERHEAD_BYTES

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

_SEQUENCE_MAX = 2**31 - 1
_OFFSET_MAX = 2**63 - 1
_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_MAX_TIMESTAMP = struct.Struct(">q")
_MAX_TIMESTAMP_POSITION = 35


pack_header = _HEADER.pack_into


class BatchHeader(NamedTuple):
    """The header's fields, in the order of the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return LENGTH_OVERHEAD_BYTES + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> Compression:
        return Compression.of(self.attributes & COMPRESSION_MASK)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers in here may go (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return next_sequence(self.base_sequence, self.last_offset_delta)


def next_sequence(sequence: int, increment: int) -> int:
    """Sequences are 31 bits wide and go on at 0 after the largest."""
    return (sequence + increment) & _SEQUENCE_MAX


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`, unchecked but for its length."""
    if position < 0 or len(buffer) - position < HEADER_BYTES:
        raise CorruptBatch(BatchFault.TRUNCATED, f"no whole header at byte {position}")
    return _parse(buffer, position)


def _parse(buffer: Buffer, position: int) -> BatchHeader:
    # Half the time of BatchHeader(*fields); the struct gives exactly as many fields.
    return tuple.__new__(BatchHeader, _HEADER.unpack_from(buffer, position))


def split_batches(
    buffer: Buffer, *, allow_partial_tail: bool = False
) -> list[tuple[int, BatchHeader]]:
    """(position, header) of each batch; lengths and magic are checked, contents are not.

    A Fetch answer may end in the middle of a batch; `allow_partial_tail` leaves that piece out.
    """
    batches = []
    position, end = 0, len(buffer)
    while position < end:
        header = _whole_batch_at(buffer, position, end)
        if header is None:
            if allow_partial_tail:
                break
            raise CorruptBatch(BatchFault.TRUNCATED, f"partial batch at byte {position}")
        batches.append((position, header))
        position += LENGTH_OVERHEAD_BYTES + header.batch_length
    return batches


def _whole_batch_at(buffer: Buffer, position: int, end: int) -> BatchHeader | None:
    if end - position < HEADER_BYTES:
        # A message of format 0 or 1 may be smaller than our header; its magic is at the same place.
        if end - position > MAGIC_POSITION:
            _check_magic(_signed(buffer[position + MAGIC_POSITION]), position)
        return None
    header = _parse(buffer, position)
    if header.magic != MAGIC:
        _check_magic(header.magic, position)
    if header.batch_length < _LENGTH_MIN:
        raise CorruptBatch(BatchFault.BAD_LENGTH, f"{header.batch_length} at byte {position}")
    if header.batch_length > end - position - LENGTH_OVERHEAD_BYTES:
        return None
    return header


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _check_magic(magic: int, position: int) -> None:
    if magic == MAGIC:
        return
    fault = BatchFault.OLD_MAGIC if magic in (0, 1) else BatchFault.UNKNOWN_MAGIC
    raise CorruptBatch(fault, f"magic {magic} at byte {position}")


def check_batch(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Whether the batch arrived whole and its header makes sense, whoever wrote it.

    A compacted batch has fewer records than offsets, possibly none: that is for
    `check_produced_batch`.
    """
    base_offset, batch_length, _, magic, crc, attributes, last_offset_delta, *_, count = header
    if magic != MAGIC:
        _check_magic(magic, position)
    if batch_length < _LENGTH_MIN:
        raise CorruptBatch(BatchFault.BAD_LENGTH, f"{batch_length} at byte {position}")
    if batch_length > len(buffer) - position - LENGTH_OVERHEAD_BYTES:
        raise CorruptBatch(BatchFault.TRUNCATED, f"batch at byte {position}")
    actual_crc = crc_of(buffer, position, batch_length)
    if crc != actual_crc:
        raise CorruptBatch(BatchFault.BAD_CRC, f"{actual_crc:#010x} is not {crc:#010x}")
    if attributes & COMPRESSION_MASK > Compression.ZSTD:
        raise CorruptBatch(BatchFault.UNKNOWN_COMPRESSION, f"attributes {attributes:#x}")
    if last_offset_delta < 0 or count < 0:
        raise CorruptBatch(BatchFault.BAD_HEADER, "negative offset delta or record count")
    if not 0 <= base_offset <= _OFFSET_MAX - last_offset_delta:
        raise CorruptBatch(BatchFault.BAD_HEADER, f"base offset {base_offset}")


def check_produced_batch(header: BatchHeader) -> None:
    """What a client may not send, beyond `check_batch`: it numbers records from 0 without gaps."""
    count = header.record_count
    if count <= 0 or header.last_offset_delta != count - 1:
        detail = f"{count} records up to offset delta {header.last_offset_delta}"
        raise CorruptBatch(BatchFault.BAD_HEADER, detail)
    if header.base_offset != 0:
        raise CorruptBatch(BatchFault.BAD_HEADER, f"base offset {header.base_offset}, not 0")
    if header.base_sequence < 0 and header.producer_id > NO_PRODUCER_ID:
        raise CorruptBatch(BatchFault.BAD_HEADER, "producer id without a sequence")
    if header.attributes & CONTROL:
        raise CorruptBatch(BatchFault.NOT_FOR_PRODUCERS, "control batch")


def crc_of(buffer: Buffer, position: int, batch_length: int) -> int:
    """CRC-32C of the part it covers. The package lets the GIL go for large buffers by itself."""
    end = position + LENGTH_OVERHEAD_BYTES + batch_length
    return crc32c(memoryview(buffer)[position + ATTRIBUTES_POSITION : end])


def patch_offset(
    buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Put in what the leader decides; the CRC does not cover it."""
    _OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + LEADER_EPOCH_POSITION, leader_epoch)


def patch_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, now_ms: int
) -> BatchHeader:
    """Stamp the batch with the broker's time, which then counts for each of its records."""
    attributes = header.attributes | LOG_APPEND_TIME
    _ATTRIBUTES.pack_into(buffer, position + ATTRIBUTES_POSITION, attributes)
    _MAX_TIMESTAMP.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, now_ms)
    crc = crc_of(buffer, position, header.batch_length)
    _CRC.pack_into(buffer, position + CRC_POSITION, crc)
    return header._replace(attributes=attributes, max_timestamp=now_ms, crc=crc)
