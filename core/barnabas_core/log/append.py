"""What a leader checks before it takes batches, and what it changes in them. Nothing per record.

Two kinds of topic cost more: a compacted one must see every key, and one with a `compression.type`
of its own gets the batches of other codecs compressed again.
"""

from typing import NamedTuple

from barnabas_core.log.error import AppendError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producer_state import AppendOrigin
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import (
    COMPRESSION_MASK,
    CRC_POSITION,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    check_batch,
    check_produced_batch,
    crc_of,
    pack_header,
    patch_append_time,
    split_batches,
)
from barnabas_core.records.compression import Compression, compress, decompress
from barnabas_core.records.record_scan import check_records
from barnabas_core.wire.error_code import ErrorCode

_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


CheckedBatch = tuple[bytearray | memoryview, int, BatchHeader]
"""(buffer, position in it, header) of a batch as it will be written, but for offset and epoch."""


class CheckedAppend(NamedTuple):
    """All batches of one append, and their sums."""

    batches: list[CheckedBatch]
    size_bytes: int
    offset_count: int
    newest_ms: int
    has_producers: bool


def check_append(
    buffer: bytearray | memoryview, config: LogConfig, origin: AppendOrigin, now_ms: int
) -> CheckedAppend:
    """The batches of a leader's append; `AppendError` if one of them must not be taken."""
    if len(buffer) > config.segment_bytes:
        reason = f"{len(buffer)} bytes do not fit a segment of {config.segment_bytes}"
        raise AppendError(ErrorCode.RECORD_LIST_TOO_LARGE, reason)
    try:
        batches = split_batches(buffer)
        checked = [_check_batch(buffer, it, config, origin, now_ms) for it in batches]
    except CorruptBatch as error:
        raise AppendError(error.error_code, str(error)) from error
    if not checked:
        raise AppendError(ErrorCode.INVALID_RECORD, "no record batch")
    return _sum_up(buffer, checked)


def _sum_up(buffer: bytearray | memoryview, checked: list[CheckedBatch]) -> CheckedAppend:
    size_bytes = offset_count = 0
    newest_ms = NO_TIMESTAMP
    has_producers = is_rebuilt = False
    for batch_buffer, _, header in checked:
        size_bytes += LENGTH_OVERHEAD_BYTES + header.batch_length
        offset_count += header.last_offset_delta + 1
        if header.max_timestamp > newest_ms:
            newest_ms = header.max_timestamp
        if header.producer_id >= 0:
            has_producers = True
        if batch_buffer is not buffer:
            is_rebuilt = True
    if is_rebuilt:
        checked = [_on_its_own(batch) for batch in checked]
    return CheckedAppend(checked, size_bytes, offset_count, newest_ms, has_producers)


def _on_its_own(batch: CheckedBatch) -> CheckedBatch:
    """Once one batch was rebuilt they are no longer neighbours in one buffer."""
    buffer, position, header = batch
    return memoryview(buffer)[position : position + header.size_bytes], 0, header


def _check_batch(
    buffer: bytearray | memoryview,
    found: tuple[int, BatchHeader],
    config: LogConfig,
    origin: AppendOrigin,
    now_ms: int,
) -> CheckedBatch:
    position, header = found
    if LENGTH_OVERHEAD_BYTES + header.batch_length > config.max_message_bytes:
        raise _too_large(header, config)
    check_batch(buffer, position, header)
    if origin is AppendOrigin.CLIENT:
        check_produced_batch(header)
    if config.cleanup_compact and not header.is_control:
        check_records(buffer, position, header, keys_required=True)
    batch = buffer, position, header
    if config.compression_type != "producer" and not header.is_control:
        batch = _in_codec_of(batch, config)
    if config.message_timestamp_type == "LogAppendTime":
        buffer, position, header = batch
        return buffer, position, patch_append_time(buffer, position, header, now_ms)
    oldest_ms = now_ms - config.message_timestamp_before_max_ms
    newest_ms = now_ms + config.message_timestamp_after_max_ms
    if not oldest_ms <= header.base_timestamp <= header.max_timestamp <= newest_ms or (
        header.attributes & LOG_APPEND_TIME
    ):
        _check_timestamps(header, oldest_ms, newest_ms)
    return batch


def _too_large(header: BatchHeader, config: LogConfig) -> AppendError:
    most = config.max_message_bytes
    reason = f"{header.size_bytes} bytes are more than max.message.bytes, {most}"
    return AppendError(ErrorCode.MESSAGE_TOO_LARGE, reason)


def _check_timestamps(header: BatchHeader, oldest_ms: int, newest_ms: int) -> None:
    if header.is_log_append_time:
        reason = "a producer must not say that its timestamps are the log's"
        raise AppendError(ErrorCode.INVALID_TIMESTAMP, reason)
    for timestamp_ms in (header.base_timestamp, header.max_timestamp):
        if timestamp_ms != NO_TIMESTAMP and not oldest_ms <= timestamp_ms <= newest_ms:
            reason = f"timestamp {timestamp_ms} is not in {oldest_ms}..{newest_ms}"
            raise AppendError(ErrorCode.INVALID_TIMESTAMP, reason)


def _in_codec_of(batch: CheckedBatch, config: LogConfig) -> CheckedBatch:
    """Compressed as the topic wants it. The records inside stay as they are."""
    codec = _CODECS[config.compression_type]
    buffer, position, header = batch
    if header.compression is codec:
        return batch
    view = memoryview(buffer)[position + HEADER_BYTES : position + header.size_bytes]
    records = compress(codec, decompress(header.compression, view), _level(codec, config))
    again = _with_records(header, codec, records)
    if again[2].size_bytes > config.max_message_bytes:
        raise _too_large(again[2], config)
    return again


def _with_records(header: BatchHeader, codec: Compression, records: bytes) -> CheckedBatch:
    header = header._replace(
        batch_length=HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(records),
        attributes=header.attributes & ~COMPRESSION_MASK | codec,
    )
    buffer = bytearray(HEADER_BYTES)
    buffer += records
    pack_header(buffer, 0, *header)
    header = header._replace(crc=crc_of(buffer, 0, header.batch_length))
    buffer[CRC_POSITION : CRC_POSITION + 4] = header.crc.to_bytes(4)
    return buffer, 0, header


def _level(codec: Compression, config: LogConfig) -> int | None:
    if codec is Compression.GZIP:
        return config.compression_gzip_level
    if codec is Compression.LZ4:
        return config.compression_lz4_level
    if codec is Compression.ZSTD:
        return config.compression_zstd_level
    return None


def check_replicated(buffer: Buffer) -> list[tuple[int, BatchHeader]]:
    """The batches that a leader sent: whole and undamaged, or an `AppendError`.

    A chunk may end within a batch; that piece comes again with the next one.
    """
    try:
        batches = split_batches(buffer, allow_partial_tail=True)
        for position, header in batches:
            check_batch(buffer, position, header)
    except CorruptBatch as error:
        raise AppendError(error.error_code, str(error)) from error
    return batches
