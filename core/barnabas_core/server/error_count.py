"""The errors in a response, wherever it has room for them.

Most responses have one error code on top, others one for each topic, partition or resource. The
function that looks at them is compiled from the message's rows, as its codec is: a produce request
pays for two loops and a comparison.
"""

from collections.abc import Callable
from typing import TypeAlias, cast

from barnabas_core.wire.schema import Message, StructType
from barnabas_core.wire.source import Source, compile_function

CountErrors: TypeAlias = Callable[[Message, dict[int, int]], None]
"""(response, counts by error code): those that are not NONE are added."""

_FIELD = "error_code"
_counters: dict[type[Message], CountErrors] = {}


def error_counter(message: type[Message]) -> CountErrors:
    found = _counters.get(message)
    if found is None:
        origin = f"count errors of {message.__name__}"
        found = cast("CountErrors", compile_function(count_source(message), "count", origin))
        _counters[message] = found
    return found


def count_source(message: type[Message]) -> Source:
    source = Source()
    with source.block("def count(message, counts):"):
        source.line("pass")
        _write(source, message, "message")
    return source


def _write(source: Source, struct: StructType, name: str) -> None:
    for field in struct.FIELDS:
        at = f"{name}.{field.name}"
        if field.name == _FIELD:
            with source.block(f"if {at}:"):
                source.line(f"counts[{at}] = counts.get({at}, 0) + 1")
        elif field.struct is not None and _has_error(field.struct):
            if field.is_array:
                each = source.fresh("each")
                # A nullable array may be null.
                with source.block(f"for {each} in {at} or ():"):
                    _write(source, field.struct, each)
            else:
                with source.block(f"if {at} is not None:"):
                    _write(source, field.struct, at)


def _has_error(struct: StructType) -> bool:
    return any(
        field.name == _FIELD or (field.struct is not None and _has_error(field.struct))
        for field in struct.FIELDS
    )
