"""Which records a batch was refused for (KIP-467): looked for only once it is refused.

Both searches are bounded, for a batch may hold a hundred thousand records: the answer names the
first thousand, and what would have to be decompressed on the event loop is not looked into.
"""

import asyncio
from itertools import islice
from typing import Final

from barnabas_core.log.error import AppendError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.ports import Buffer, Executor
from barnabas_core.records.batch import NO_TIMESTAMP, parse_header
from barnabas_core.records.compression import Compression
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.record import iter_records
from barnabas_core.records.record_scan import iter_keys
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_response import BatchIndexAndErrorMessage

_ERRORS_MAX: Final = 1_000
_SLICE_RECORDS: Final = 1_000


class RecordsRefused(AppendError):
    """An `AppendError` that knows the records it is about."""

    def __init__(self, error_code: ErrorCode, reason: str, indexes: list[int], why: str) -> None:
        super().__init__(error_code, reason)
        self.record_errors = [BatchIndexAndErrorMessage(index, why) for index in indexes]


def is_about_keys(refusal: AppendError) -> bool:
    cause = refusal.__cause__
    return isinstance(cause, CorruptBatch) and cause.fault is BatchFault.MISSING_KEY


async def keyless(records: Buffer, executor: Executor) -> AppendError:
    """The refusal of a batch with records that have no key, for a compacted topic."""
    keys = await executor.in_thread(lambda: iter_keys(records))
    found: list[int] = []
    try:
        for index, record in enumerate(keys):
            if record.key is None:
                found.append(index)
            if len(found) == _ERRORS_MAX:
                break
            if index % _SLICE_RECORDS == _SLICE_RECORDS - 1:
                await asyncio.sleep(0)
    except CorruptBatch as error:
        return AppendError(error.error_code, str(error))
    reason = f"{len(found)} records were rejected: a compacted topic wants a key of each"
    why = "a compacted topic cannot take a record without a key"
    return RecordsRefused(ErrorCode.INVALID_RECORD, reason, found, why)


def untimely(refusal: AppendError, records: Buffer, config: LogConfig, now_ms: int) -> AppendError:
    """`refusal` for its timestamps, with the records whose timestamps they are."""
    header = parse_header(records)
    if header.compression is not Compression.NONE:
        return refusal
    oldest_ms = now_ms - config.message_timestamp_before_max_ms
    newest_ms = now_ms + config.message_timestamp_after_max_ms
    try:
        found = [
            index
            for index, record in enumerate(islice(iter_records(records), _ERRORS_MAX))
            if header.is_log_append_time
            or (record.timestamp != NO_TIMESTAMP and not oldest_ms <= record.timestamp <= newest_ms)
        ]
    except CorruptBatch:
        return refusal
    return RecordsRefused(ErrorCode.INVALID_TIMESTAMP, str(refusal), found, str(refusal))
