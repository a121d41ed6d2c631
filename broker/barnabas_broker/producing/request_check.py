"""What a Produce request may not hold, whatever the log thinks of it; the log checks the rest.

One whole batch per partition, of the present format. A piece of a batch behind it is left out, as
Kafka does; a partition that is named twice is written once, with what comes last.
"""

from struct import Struct
from typing import Final, cast

from barnabas_core.log.error import AppendError
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import (
    COMPRESSION_MASK,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL,
)
from barnabas_core.records.compression import Compression
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

_ZSTD_VERSION: Final = 7
_OLD_MAGIC: Final = (0, 1)
_BATCH_START: Final = Struct(">8xi4xb4xh")  # length, magic, attributes
_LENGTH: Final = Struct(">8xi")
_MAGIC_END: Final = 17


class BadRequest(AppendError):
    """Refused before any log was asked."""


def checked_records(records: Buffer | None, version: int) -> memoryview:
    # A frame is a bytearray of its own, and so records are a writable view of it.
    view = cast("memoryview", records)
    if view is None or len(view) < _BATCH_START.size:
        raise BadRequest(ErrorCode.INVALID_RECORD, "no record batch")
    length, magic, attributes = _BATCH_START.unpack_from(view)
    size = LENGTH_OVERHEAD_BYTES + length
    if magic != MAGIC or size != len(view):
        view = _one_batch(view, size, magic)
    if attributes & COMPRESSION_MASK == Compression.ZSTD and version < _ZSTD_VERSION:
        reason = f"zstd needs version {_ZSTD_VERSION}"
        raise BadRequest(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    if attributes & TRANSACTIONAL:
        raise BadRequest(ErrorCode.INVALID_TXN_STATE, "there is no transaction coordinator")
    return view


def _one_batch(view: memoryview, size: int, magic: int) -> memoryview:
    """The batch without a piece of another behind it."""
    if magic != MAGIC:
        error = ErrorCode.INVALID_RECORD if magic in _OLD_MAGIC else ErrorCode.CORRUPT_MESSAGE
        raise BadRequest(error, f"a record batch of magic 2 is wanted, not {magic}")
    if size > len(view):
        raise BadRequest(ErrorCode.INVALID_RECORD, "no whole record batch")
    if size <= LENGTH_OVERHEAD_BYTES:
        raise BadRequest(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {size} bytes")
    rest = view[size:]
    if len(rest) >= _MAGIC_END:
        (length,) = _LENGTH.unpack_from(rest)
        if LENGTH_OVERHEAD_BYTES + length <= len(rest):
            raise BadRequest(ErrorCode.INVALID_RECORD, "exactly one record batch is wanted")
    return view[:size]


def drop_repetitions(request: ProduceRequest) -> None:
    """Keep the last of what is for the same partition."""
    topics: dict[tuple[str, bytes], dict[int, PartitionProduceData]] = {}
    count = 0
    for topic in request.topic_data:
        partitions = topics.setdefault((topic.name, topic.topic_id), {})
        for data in topic.partition_data:
            partitions[data.index] = data
            count += 1
    if count == sum(map(len, topics.values())):
        return
    request.topic_data = [
        TopicProduceData(name, topic_id, list(partitions.values()))
        for (name, topic_id), partitions in topics.items()
    ]
