"""Why one item of a request is not done: a code, and Kafka's words for it."""

from typing import NamedTuple

from barnabas_core.wire.error_code import ErrorCode


class Refusal(NamedTuple):
    error: ErrorCode
    message: str | None


def invalid_request(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def invalid_config(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_CONFIG, message)
