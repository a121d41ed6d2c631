"""Why one item of a request is not done."""

from barnabas_core.wire.error_code import ErrorCode

TOO_MANY_PARTITIONS = "Excessively large number of partitions per request."
TOO_MANY_RECORDS = "Unable to perform excessively large batch operation."


class Refused(Exception):
    """The answer to one item: its records are not written, those of the others are."""

    def __init__(self, code: ErrorCode, message: str | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
