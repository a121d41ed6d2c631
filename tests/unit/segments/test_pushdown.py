"""A query's conditions, as far as files can answer them."""

from datetime import UTC, datetime

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from barnabas_pipeline.segments.plan import Selection
from barnabas_pipeline.segments.pushdown import push_filters

OFFSET, TIME, TOPIC, PARTITION = ("offset",), ("timestamp",), ("topic",), ("partition",)
MOMENT = datetime(2024, 1, 1, 12, 0, 0, 1_500, tzinfo=UTC)
MOMENT_MS = 1_704_110_400_001


@pytest.mark.parametrize(
    ("one", "asked"),
    [
        (EqualTo(OFFSET, 5), Selection(start_offset=5, end_offset=6)),
        (GreaterThan(OFFSET, 5), Selection(start_offset=6)),
        (GreaterThanOrEqual(OFFSET, 5), Selection(start_offset=5)),
        (LessThan(OFFSET, 5), Selection(end_offset=5)),
        (LessThanOrEqual(OFFSET, 5), Selection(end_offset=6)),
        (EqualTo(TOPIC, "a"), Selection(topics=frozenset({"a"}))),
        (In(TOPIC, ("a", "b")), Selection(topics=frozenset({"a", "b"}))),
        (EqualTo(PARTITION, 3), Selection(partitions=frozenset({3}))),
    ],
)
def test_offsets_topics_and_partitions_are_answered_exactly(one: Filter, asked: Selection) -> None:
    selection, left = push_filters([one], Selection())

    assert selection == asked
    assert list(left) == []


@pytest.mark.parametrize("kind", [EqualTo, GreaterThan, GreaterThanOrEqual])
def test_a_lower_bound_in_time_is_taken_but_spark_must_still_look(
    kind: "type[EqualTo | GreaterThan | GreaterThanOrEqual]",
) -> None:
    one = kind(TIME, MOMENT)

    selection, left = push_filters([one], Selection())

    assert selection == Selection(min_timestamp_ms=MOMENT_MS)
    assert list(left) == [one]


@pytest.mark.parametrize(
    "one",
    [
        LessThan(TIME, MOMENT),
        IsNotNull(OFFSET),
        StringStartsWith(TOPIC, "a"),
        EqualTo(("value",), b"x"),
        GreaterThan(("headers", "key"), "x"),
    ],
)
def test_anything_else_is_left_to_spark(one: Filter) -> None:
    selection, left = push_filters([one], Selection())

    assert selection == Selection()
    assert list(left) == [one]


def test_several_conditions_narrow_each_other_and_the_options() -> None:
    options = Selection(topics=frozenset({"a", "b"}), start_offset=10, end_offset=100)

    selection, _ = push_filters(
        [In(TOPIC, ("b", "c")), GreaterThan(OFFSET, 3), LessThan(OFFSET, 50)], options
    )

    assert selection == Selection(topics=frozenset({"b"}), start_offset=10, end_offset=50)
