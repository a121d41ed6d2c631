"""Columns as SQL writes them, to the JSON that Spark makes schemas from."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas_pipeline.spec.ddl import parse_ddl


def struct_of(text: str) -> StructType:
    parsed = parse_ddl(text)
    assert isinstance(parsed, dict)
    return StructType.fromJson(parsed)


def test_plain_columns_and_their_nullability() -> None:
    assert struct_of("id BIGINT NOT NULL, `two words` string, at Timestamp") == StructType(
        [
            StructField("id", LongType(), nullable=False),
            StructField("two words", StringType()),
            StructField("at", TimestampType()),
        ]
    )


def test_nested_types() -> None:
    text = "a ARRAY<STRUCT<x: DOUBLE, y: BINARY>>, m MAP<STRING, DECIMAL(12, 2)>"

    inner = StructType([StructField("x", DoubleType()), StructField("y", BinaryType())])
    assert struct_of(text) == StructType(
        [
            StructField("a", ArrayType(inner)),
            StructField("m", MapType(StringType(), DecimalType(12, 2))),
        ]
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id", "the type of `id` is missing at the end"),
        ("id BIGINT amount DOUBLE", "a comma is missing before `amount`"),
        ("id BIGINT,", "the name of a column is missing at the end"),
        ("id ARRAY<INT", "`>` is missing before `the end`"),
        ("id WORD", "`word` is no type"),
        ("id INT; drop", "`; drop` does not belong"),
    ],
)
def test_a_mistake_says_what_is_missing_and_where(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_ddl(text)
