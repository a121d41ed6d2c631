"""Record batches made by us: markers, coordinators' records, what the cleaner rewrites.

`BatchBuilder` takes records one by one and gives the finished bytes; `build_batch` does both for a
list. The result is a bytearray, because the leader that appends it puts its offset and epoch in.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import (
    CONTROL,
    CRC_POSITION,
    DELETE_HORIZON,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    crc_of,
    pack_header,
)
from barnabas_core.records.compression import Compression, compress
from barnabas_core.records.record import Header, Record, wrap_int64
from barnabas_core.wire.primitive import varint_bytes, varlong_bytes

_NULL = varint_bytes(-1)
_NO_HEADERS = varint_bytes(0)
_ATTRIBUTES = b"\x00"
_CRC = struct.Struct(">I")
# Nearly every length and delta is below this.
_VARINTS = [varint_bytes(number) for number in range(2048)]


@dataclass(slots=True, kw_only=True)
class BatchBuilder:
    """One batch. Offsets are dense from `base_offset` unless a record brings its own."""

    base_offset: int = 0
    leader_epoch: int = -1
    compression: Compression = Compression.NONE
    level: int | None = None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None
    # LogAppendTime: for readers the time of every record, whatever its own.
    append_time_ms: int | None = None

    record_count: int = field(default=0, init=False)
    _records: bytearray = field(default_factory=bytearray, init=False, repr=False)
    _base_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _max_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _last_offset: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        self._last_offset = self.base_offset - 1
        if self.delete_horizon_ms is not None:
            # The horizon has no other place in the header, so timestamps count from it (KIP-534).
            self._base_timestamp = self.delete_horizon_ms

    @property
    def size_bytes(self) -> int:
        """What the batch takes if nothing more is added, before compression."""
        return HEADER_BYTES + len(self._records)

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp_ms: int = NO_TIMESTAMP,
        headers: Sequence[Header] = (),
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset."""
        if offset is None:
            offset = self._last_offset + 1
        assert offset > self._last_offset, "offsets rise"
        if self.record_count == 0 and self.delete_horizon_ms is None:
            self._base_timestamp = timestamp_ms
        body = b"".join(
            (
                _ATTRIBUTES,
                _varlong(wrap_int64(timestamp_ms - self._base_timestamp)),
                _varint(offset - self.base_offset),
                _NULL if key is None else _varint(len(key)),
                key or b"",
                _NULL if value is None else _varint(len(value)),
                value or b"",
                _encode_headers(headers) if headers else _NO_HEADERS,
            )
        )
        self._records += _varint(len(body))
        self._records += body
        self._last_offset = offset
        self.record_count += 1
        if timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        return offset

    def build(self, last_offset: int | None = None) -> bytearray:
        """The batch. `last_offset`: where it ended before the cleaner took records out of it."""
        if last_offset is None:
            last_offset = self._last_offset
        assert last_offset >= self._last_offset >= self.base_offset, "the last record is within"
        batch = bytearray(HEADER_BYTES)
        if self.compression is Compression.NONE:
            batch += self._records
        else:
            batch += compress(self.compression, self._records, self.level)
        return _seal(batch, self._header(len(batch), last_offset))

    def _header(self, size_bytes: int, last_offset: int) -> BatchHeader:
        return BatchHeader(
            self.base_offset,
            size_bytes - LENGTH_OVERHEAD_BYTES,
            self.leader_epoch,
            MAGIC,
            0,
            self._attributes(),
            last_offset - self.base_offset,
            self._base_timestamp,
            self._max_timestamp if self.append_time_ms is None else self.append_time_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        )

    def _attributes(self) -> int:
        return (
            self.compression
            | (LOG_APPEND_TIME if self.append_time_ms is not None else 0)
            | (TRANSACTIONAL if self.is_transactional else 0)
            | (CONTROL if self.is_control else 0)
            | (DELETE_HORIZON if self.delete_horizon_ms is not None else 0)
        )


def _varint(number: int) -> bytes:
    return _VARINTS[number] if 0 <= number < len(_VARINTS) else varint_bytes(number)


def _varlong(number: int) -> bytes:
    return _VARINTS[number] if 0 <= number < len(_VARINTS) else varlong_bytes(number)


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts: list[Buffer] = [_varint(len(headers))]
    for key, value in headers:
        parts += (_varint(len(key)), key)
        if value is None:
            parts.append(_NULL)
        else:
            parts += (_varint(len(value)), value)
    return b"".join(parts)


def _seal(batch: bytearray, header: BatchHeader) -> bytearray:
    pack_header(batch, 0, *header)
    _CRC.pack_into(batch, CRC_POSITION, crc_of(batch, 0, header.batch_length))
    return batch


def build_batch(  # noqa: PLR0913  each is a field of the header
    records: Sequence[tuple[Buffer | None, Buffer | None] | Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    timestamp_ms: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    delete_horizon_ms: int | None = None,
    append_time_ms: int | None = None,
    last_offset: int | None = None,
) -> bytearray:
    """A batch of (key, value) at `timestamp_ms`, or of `Record`s with their own offset and time."""
    builder = BatchBuilder(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        compression=compression,
        level=level,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        delete_horizon_ms=delete_horizon_ms,
        append_time_ms=append_time_ms,
    )
    for record in records:
        if isinstance(record, Record):
            offset, timestamp, key, value, headers = record
            builder.append(key, value, timestamp, headers, offset)
        else:
            builder.append(record[0], record[1], timestamp_ms)
    return builder.build(last_offset)


def builder_like(header: BatchHeader, delete_horizon_ms: int | None = None) -> BatchBuilder:
    """A builder for what the cleaner keeps of a batch; build it with the old `last_offset`."""
    return BatchBuilder(
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        compression=header.compression,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        delete_horizon_ms=delete_horizon_ms,
        append_time_ms=header.max_timestamp if header.is_log_append_time else None,
    )


def empty_batch(header: BatchHeader) -> bytearray:
    """A batch whose records are all gone, kept because it holds its producer's last sequence."""
    kept_flags = LOG_APPEND_TIME | TRANSACTIONAL | CONTROL
    kept = header._replace(
        batch_length=HEADER_BYTES - LENGTH_OVERHEAD_BYTES,
        attributes=header.attributes & kept_flags,
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    return _seal(bytearray(HEADER_BYTES), kept)
