"""Why something that was asked for a partition is not done."""

from typing import Final

from barnabas_core.wire.error_code import ErrorCode


class Refused(Exception):
    """Caught where the answer for the partition is written."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or error.name)
        self.error = error
        self.message = message


TOO_LARGE: Final = "Unable to perform excessively large batch operation."
