"""What a leader checks before it takes batches, and what it changes in them. Nothing per record.

Two kinds of topic cost more (`opens_batches`): a compacted one must see every key, and one with a
`compression.type` of its own gets the batches of other codecs compressed again. That may take
longer than an event loop can wait, so it can be done beforehand, as an `OpenedAppend`.
"""

from typing import NamedTuple

from barnabas_core.log.error import AppendError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producers.producer_state import AppendOrigin
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
from barnabas_core.records.record_scan import RecordCheck
from barnabas_core.wire.error_code import ErrorCode

_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


Batch = tuple[int, BatchHeader]
"""(position in the buffer, header)"""


class CheckedAppend(NamedTuple):
    """All batches of one append as they will be written, but for offset and leader epoch."""

    batches: list[Batch]
    size_bytes: int
    offset_count: int
    newest_ms: int
    has_producers: bool


def opens_batches(config: LogConfig) -> bool:
    """Whether appending looks into batches."""
    return config.cleanup_compact or config.compression_type != "producer"


class OpenedAppend:
    """The part of a leader's checks that looks into batches, done ahead of the rest.

    Making one is for a thread: it spends its time in checksums and codecs, without the GIL. Then
    `advance`, in slices, until it says that all is well; then `stage` what is in `buffer`, with
    `is_opened`. `AppendError` comes from either, as it would from `stage`.
    """

    __slots__ = ("_checks", "buffer")

    def __init__(self, buffer: bytearray | memoryview, config: LogConfig) -> None:
        self.buffer = buffer
        self._checks: list[RecordCheck] = []
        try:
            self._open(config)
        except CorruptBatch as error:
            raise AppendError(error.error_code, str(error)) from error

    def _open(self, config: LogConfig) -> None:
        recoded: list[Buffer] = []
        for position, header in split_batches(self.buffer):
            if header.size_bytes > config.max_message_bytes:
                raise _too_large(header, config)
            check_batch(self.buffer, position, header)
            if config.cleanup_compact and not header.is_control:
                self._checks.append(RecordCheck(self.buffer, position, header, keys_required=True))
            recoded.append(_in_codec_of(self.buffer, position, header, config))
        if config.compression_type != "producer":
            self.buffer = bytearray().join(recoded)

    def advance(self, record_count: int) -> bool:
        """Look at the next records; whether that was all of them."""
        try:
            while self._checks:
                if not self._checks[-1].advance(record_count):
                    return False
                self._checks.pop()
        except CorruptBatch as error:
            raise AppendError(error.error_code, str(error)) from error
        return True


def open_append(buffer: bytearray | memoryview, config: LogConfig) -> bytearray | memoryview:
    """All of that at once; what is to be staged."""
    opened = OpenedAppend(buffer, config)
    while not opened.advance(len(buffer)):
        pass
    return opened.buffer


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
    offset_count = 0
    newest_ms = NO_TIMESTAMP
    has_producers = False
    for _, header in checked:
        offset_count += header.last_offset_delta + 1
        if header.max_timestamp > newest_ms:
            newest_ms = header.max_timestamp
        if header.producer_id >= 0:
            has_producers = True
    return CheckedAppend(checked, len(buffer), offset_count, newest_ms, has_producers)


def _check_batch(
    buffer: bytearray | memoryview,
    batch: Batch,
    config: LogConfig,
    origin: AppendOrigin,
    now_ms: int,
) -> Batch:
    position, header = batch
    if LENGTH_OVERHEAD_BYTES + header.batch_length > config.max_message_bytes:
        raise _too_large(header, config)
    check_batch(buffer, position, header)
    if origin is AppendOrigin.CLIENT:
        check_produced_batch(header)
    if config.message_timestamp_type == "LogAppendTime":
        if header.is_log_append_time and origin is AppendOrigin.CLIENT:
            raise _not_the_logs_time()
        return position, patch_append_time(buffer, position, header, now_ms)
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
        raise _not_the_logs_time()
    for timestamp_ms in (header.base_timestamp, header.max_timestamp):
        if timestamp_ms != NO_TIMESTAMP and not oldest_ms <= timestamp_ms <= newest_ms:
            reason = f"timestamp {timestamp_ms} is not in {oldest_ms}..{newest_ms}"
            raise AppendError(ErrorCode.INVALID_TIMESTAMP, reason)


def _not_the_logs_time() -> AppendError:
    reason = "a producer must not say that its timestamps are the log's"
    return AppendError(ErrorCode.INVALID_TIMESTAMP, reason)


def _in_codec_of(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, config: LogConfig
) -> Buffer:
    """The batch, compressed as the topic wants it. The records inside stay as they are."""
    batch = memoryview(buffer)[position : position + header.size_bytes]
    codec = _CODECS.get(config.compression_type, header.compression)
    if header.is_control or header.compression is codec:
        return batch
    records = decompress(header.compression, batch[HEADER_BYTES:])
    return _with_records(header, codec, compress(codec, records, _level(codec, config)))


def _with_records(header: BatchHeader, codec: Compression, records: bytes) -> bytearray:
    header = header._replace(
        batch_length=HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(records),
        attributes=header.attributes & ~COMPRESSION_MASK | codec,
    )
    batch = bytearray(HEADER_BYTES)
    batch += records
    pack_header(batch, 0, *header)
    crc = crc_of(batch, 0, header.batch_length)
    batch[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4)
    return batch


def _level(codec: Compression, config: LogConfig) -> int | None:
    if codec is Compression.GZIP:
        return config.compression_gzip_level
    if codec is Compression.LZ4:
        return config.compression_lz4_level
    if codec is Compression.ZSTD:
        return config.compression_zstd_level
    return None


def check_replicated(buffer: Buffer) -> list[Batch]:
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
