"""What can be wrong with a record batch that somebody else made.

One exception, `CorruptBatch`, with a `fault` that says what and an `error_code` that says what
Kafka answers for it: a batch damaged on the way is CORRUPT_MESSAGE (the producer sends it again),
a batch that was built wrong is INVALID_RECORD (sending it again would not help).
"""

from enum import Enum

from barnabas_core.wire.error_code import ErrorCode


class BatchFault(Enum):
    TRUNCATED = "truncated"
    BAD_LENGTH = "bad length"
    UNKNOWN_MAGIC = "unknown magic"
    OLD_MAGIC = "message format 0 or 1"
    BAD_CRC = "CRC mismatch"
    BAD_HEADER = "bad header"
    UNKNOWN_COMPRESSION = "unknown compression"
    BAD_COMPRESSED_DATA = "bad compressed data"
    DECOMPRESSED_TOO_LARGE = "decompressed size above the bound"
    BAD_RECORD = "bad record"
    BAD_CONTROL_RECORD = "bad control record"
    NOT_FOR_PRODUCERS = "not allowed from a producer"
    MISSING_KEY = "record without a key in a compacted topic"


_ERROR_CODES = {
    BatchFault.TRUNCATED: ErrorCode.CORRUPT_MESSAGE,
    BatchFault.BAD_LENGTH: ErrorCode.CORRUPT_MESSAGE,
    BatchFault.UNKNOWN_MAGIC: ErrorCode.CORRUPT_MESSAGE,
    BatchFault.BAD_CRC: ErrorCode.CORRUPT_MESSAGE,
    BatchFault.UNKNOWN_COMPRESSION: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    BatchFault.DECOMPRESSED_TOO_LARGE: ErrorCode.MESSAGE_TOO_LARGE,
}


class CorruptBatch(Exception):
    """Bytes that are not a sound record batch. Nothing was changed by whoever raises it."""

    def __init__(self, fault: BatchFault, detail: str = "") -> None:
        super().__init__(f"{fault.value}: {detail}" if detail else fault.value)
        self.fault = fault

    @property
    def error_code(self) -> ErrorCode:
        return _ERROR_CODES.get(self.fault, ErrorCode.INVALID_RECORD)


class DecompressionTooLarge(CorruptBatch):
    """The batch would grow beyond the bound that the caller set: a decompression bomb."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(BatchFault.DECOMPRESSED_TOO_LARGE, f"more than {max_bytes} bytes")
        self.max_bytes = max_bytes
