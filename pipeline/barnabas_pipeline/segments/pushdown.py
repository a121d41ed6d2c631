"""What of a query's conditions the files themselves can answer.

Topics, partitions and offsets are answered exactly, so Spark need not look at them again. A lower
bound in time says where to begin, but later records may be older: Spark still has to look. An upper
bound in time says nothing about where to end, so it is left to Spark alone.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from barnabas_pipeline.segments.plan import Selection

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)

Narrowing = tuple[Selection, bool]
"""What a filter asks for, and whether nothing of it is left for Spark to do."""


def push_filters(filters: Iterable[Filter], asked: Selection) -> tuple[Selection, Iterator[Filter]]:
    """The narrower selection, and the filters that Spark must still apply."""
    left: list[Filter] = []
    for one in filters:
        narrowing = narrowing_of(one)
        if narrowing is not None:
            asked = asked.narrowed(narrowing[0])
        if narrowing is None or not narrowing[1]:
            left.append(one)
    return asked, iter(left)


def narrowing_of(one: Filter) -> Narrowing | None:
    column: tuple[str, ...] = getattr(one, "attribute", ())
    narrow = _COLUMNS.get(column[0]) if len(column) == 1 else None
    return None if narrow is None else narrow(one)


def _topic(one: Filter) -> Narrowing | None:
    values = _equal_values(one)
    return None if values is None else (Selection(topics=frozenset(values)), True)


def _partition(one: Filter) -> Narrowing | None:
    values = _equal_values(one)
    return None if values is None else (Selection(partitions=frozenset(values)), True)


def _equal_values(one: Filter) -> tuple[Any, ...] | None:
    if isinstance(one, EqualTo):
        return (one.value,)
    return tuple(one.value) if isinstance(one, In) else None


def _offset(one: Filter) -> Narrowing | None:
    if isinstance(one, EqualTo):
        return Selection(start_offset=one.value, end_offset=one.value + 1), True
    if isinstance(one, GreaterThanOrEqual):
        return Selection(start_offset=one.value), True
    if isinstance(one, GreaterThan):
        return Selection(start_offset=one.value + 1), True
    if isinstance(one, LessThan):
        return Selection(end_offset=one.value), True
    if isinstance(one, LessThanOrEqual):
        return Selection(end_offset=one.value + 1), True
    return None


def _timestamp(one: Filter) -> Narrowing | None:
    if isinstance(one, EqualTo | GreaterThan | GreaterThanOrEqual):
        return Selection(min_timestamp_ms=timestamp_ms(one.value)), False
    return None


def timestamp_ms(moment: datetime) -> int:
    """Rounded down; a moment without a zone is one of this process, as Spark means it."""
    return (moment.astimezone(UTC) - _EPOCH) // _MILLISECOND


_COLUMNS: Final[dict[str, Callable[[Filter], Narrowing | None]]] = {
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
}
