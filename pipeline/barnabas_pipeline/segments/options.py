"""The options of `spark.read.format("barnabas-segments")`, from text to values.

Where Spark's own Kafka source has an option for the same thing, it has the same name here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from barnabas_pipeline.segments.arrow_columns import RECORD_SCHEMA
from barnabas_pipeline.segments.log_files import NO_END
from barnabas_pipeline.segments.plan import Isolation, Limits, Selection
from barnabas_pipeline.segments.segment_reader import OnCorrupt

Choice = TypeVar("Choice", bound=StrEnum)


class BadOption(ValueError):
    """An option that nobody knows, or a value that it cannot have."""


class Rows(StrEnum):
    RECORDS = "records"
    BATCHES = "batches"


@dataclass(frozen=True, slots=True)
class SourceOptions:
    paths: tuple[str, ...]
    selection: Selection
    limits: Limits
    columns: tuple[str, ...]
    rows: Rows
    on_corrupt: OnCorrupt
    checks_records: bool
    takes_filters: bool
    """Whether conditions of the query choose what is read; safe for one query only (`source`)."""


_ALL_COLUMNS: Final = tuple(RECORD_SCHEMA.names)
_NAMES: Final = (
    "path",
    "subscribe",
    "partitions",
    "startingOffset",
    "endingOffset",
    "startingTimestamp",
    "kafka.isolation.level",
    "includeHeaders",
    "includeActive",
    "columns",
    "rows",
    "onCorrupt",
    "verifyRecords",
    "pushdown",
)


def parse_options(options: Mapping[str, str]) -> SourceOptions:
    """Spark does not keep the case of an option's name, so it does not count."""
    given = {name.lower(): text for name, text in options.items()}
    unknown = sorted(set(given) - {name.lower() for name in _NAMES})
    if unknown:
        raise BadOption(f"unknown option {unknown[0]!r}; there are: {', '.join(_NAMES)}")
    texts = {name: given.get(name.lower()) for name in _NAMES}
    rows = _choice(texts, "rows", Rows, Rows.RECORDS)
    # Whoever looks at batches wants to see all of them, aborted ones marked as such.
    isolation = Isolation.COMMITTED if rows is Rows.RECORDS else Isolation.UNCOMMITTED
    return SourceOptions(
        paths=_paths(texts["path"]),
        selection=_selection(texts),
        limits=Limits(
            _choice(texts, "kafka.isolation.level", Isolation, isolation),
            reads_active=_flag(texts, "includeActive"),
        ),
        columns=_columns(texts),
        rows=rows,
        on_corrupt=_choice(texts, "onCorrupt", OnCorrupt, OnCorrupt.FAIL),
        checks_records=_flag(texts, "verifyRecords"),
        takes_filters=_flag(texts, "pushdown"),
    )


def _paths(text: str | None) -> tuple[str, ...]:
    paths = _list(text)
    if not paths:
        raise BadOption("no path: .load() takes the log directories, separated by commas")
    # Spark makes URLs of paths that it knows.
    return tuple(path.removeprefix("file://") for path in paths)


def _selection(texts: Mapping[str, str | None]) -> Selection:
    topics = _list(texts["subscribe"])
    nothing: frozenset[int] = frozenset()
    partitions = _parsed(texts, "partitions", _numbers, "whole numbers", nothing)
    timestamp_ms = _number(texts, "startingTimestamp", -1)
    return Selection(
        topics=frozenset(topics) if topics else None,
        partitions=partitions or None,
        start_offset=_number(texts, "startingOffset", 0),
        end_offset=_number(texts, "endingOffset", NO_END),
        min_timestamp_ms=None if timestamp_ms < 0 else timestamp_ms,
    )


def _columns(texts: Mapping[str, str | None]) -> tuple[str, ...]:
    asked = _list(texts["columns"])
    for name in asked:
        if name not in _ALL_COLUMNS:
            raise BadOption(f"columns: no column {name!r}; there are: {', '.join(_ALL_COLUMNS)}")
    if asked:
        return tuple(asked)
    return _ALL_COLUMNS if _flag(texts, "includeHeaders") else _ALL_COLUMNS[:-1]


def _list(text: str | None) -> Sequence[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, _list(text)))


def _flag(texts: Mapping[str, str | None], name: str) -> bool:
    return _parsed(texts, name, {"true": True, "false": False}.__getitem__, "true or false", False)


def _number(texts: Mapping[str, str | None], name: str, default: int) -> int:
    return _parsed(texts, name, int, "a whole number", default)


def _choice(
    texts: Mapping[str, str | None], name: str, kind: type[Choice], default: Choice
) -> Choice:
    return _parsed(texts, name, kind, " or ".join(kind), default)


Value = TypeVar("Value")


def _parsed(
    texts: Mapping[str, str | None],
    name: str,
    parse: Callable[[str], Value],
    expected: str,
    default: Value,
) -> Value:
    text = texts[name]
    if text is None:
        return default
    try:
        return parse(text.strip().lower())
    except (KeyError, ValueError) as error:
        raise BadOption(f"{name}: {text!r} is not {expected}") from error
