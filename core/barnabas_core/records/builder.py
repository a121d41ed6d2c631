"""Record batches made by us: markers, coordinators' records, what the cleaner rewrites.

`BatchBuilder` takes records one by one and gives the finished bytes; `build_batch` does both for a
list. The result is a bytearray, because the leader that appends it puts its offset and epoch in.
"""

import struct
from collections.abc import Iterable, Sequence
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
    crc_of,
    pack_header,
)
from barnabas_core.records.compression import Compression, compress
from barnabas_core.records.record import Header, Record
from barnabas_core.records.varint import encode_varint, encode_varlong

_NULL = encode_varint(-1)
_CRC = struct.Struct(">I")


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
    # LogAppendTime: the time of every record, whatever its own.
    append_time_ms: int | None = None

    record_count: int = field(default=0, init=False)
    _records: bytearray = field(default_factory=bytearray, init=False, repr=False)
    _base_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _max_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _last_offset: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        self._last_offset = self.base_offset - 1
        if self.delete_horizon_ms is not None:
            # The header has no room for the horizon but here, so timestamps count from it
            # (KIP-534).
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
        headers: Iterable[Header] = (),
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset."""
        offset = self._last_offset + 1 if offset is None else offset
        assert offset > self._last_offset, "offsets rise"
        if self.append_time_ms is not None:
            timestamp_ms = self.append_time_ms
        if self.record_count == 0 and self.delete_horizon_ms is None:
            self._base_timestamp = timestamp_ms
        timestamp_delta = timestamp_ms - self._base_timestamp
        body = _encode_record(timestamp_delta, offset - self.base_offset, key, value, headers)
        self._records += encode_varint(len(body))
        self._records += body
        self._last_offset = offset
        self._max_timestamp = max(self._max_timestamp, timestamp_ms)
        self.record_count += 1
        return offset

    def build(self, last_offset: int | None = None) -> bytearray:
        """The batch. `last_offset`: where it ended before the cleaner took records out of it."""
        last_offset = self._last_offset if last_offset is None else last_offset
        assert last_offset >= self._last_offset, "the last record is within the batch"
        batch = bytearray(HEADER_BYTES)
        # An empty batch carries no codec: there is nothing to compress, and readers skip it whole.
        codec = self.compression if self.record_count else Compression.NONE
        if codec is Compression.NONE:
            batch += self._records
        else:
            batch += compress(codec, self._records, self.level)
        batch_length = len(batch) - LENGTH_OVERHEAD_BYTES
        self._pack(batch, codec, last_offset - self.base_offset)
        _CRC.pack_into(batch, CRC_POSITION, crc_of(batch, 0, batch_length))
        return batch

    def _pack(self, batch: bytearray, codec: Compression, last_offset_delta: int) -> None:
        max_timestamp = self._max_timestamp if self.append_time_ms is None else self.append_time_ms
        pack_header(
            batch,
            0,
            self.base_offset,
            len(batch) - LENGTH_OVERHEAD_BYTES,
            self.leader_epoch,
            MAGIC,
            0,
            self._attributes(codec),
            last_offset_delta,
            self._base_timestamp,
            max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        )

    def _attributes(self, codec: Compression) -> int:
        return (
            codec
            | (LOG_APPEND_TIME if self.append_time_ms is not None else 0)
            | (TRANSACTIONAL if self.is_transactional else 0)
            | (CONTROL if self.is_control else 0)
            | (DELETE_HORIZON if self.delete_horizon_ms is not None else 0)
        )


def _encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Iterable[Header],
) -> bytes:
    parts: list[Buffer] = [b"\x00", encode_varlong(timestamp_delta), encode_varint(offset_delta)]
    for part in (key, value):
        _add_bytes(parts, part)
    encoded_headers = list(headers)
    parts.append(encode_varint(len(encoded_headers)))
    for header in encoded_headers:
        _add_bytes(parts, header.key)
        _add_bytes(parts, header.value)
    return b"".join(parts)


def _add_bytes(parts: list[Buffer], data: Buffer | None) -> None:
    if data is None:
        parts.append(_NULL)
    else:
        parts += (encode_varint(len(data)), data)


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
            builder.append(
                record.key, record.value, record.timestamp, record.headers, record.offset
            )
        else:
            builder.append(record[0], record[1], timestamp_ms)
    return builder.build(last_offset)
