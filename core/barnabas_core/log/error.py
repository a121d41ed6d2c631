"""What a log refuses, and what can be wrong with one.

`AppendError` is the producer's mistake and carries the code to answer with; `OffsetOutOfRange` the
reader's. `LogOffline` means that the directory went bad: nothing but closing is left to do.
"""

from barnabas_core.wire.error_code import ErrorCode


class LogError(Exception):
    """Any refusal of a partition's log."""


class AppendError(LogError):
    """The batches were not taken; the log is as it was."""

    def __init__(self, error_code: int, reason: str) -> None:
        super().__init__(reason)
        self.error_code = ErrorCode(error_code)


class OffsetOutOfRange(LogError):
    """A read before the log's start or after its end."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"offset {offset} is not in {log_start_offset}..{log_end_offset}")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class LogOffline(LogError):
    """The log directory failed, or the log was closed."""


class CorruptLog(LogError):
    """The files contradict each other: the partition must be recovered before it can be opened."""
