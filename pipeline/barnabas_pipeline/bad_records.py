"""What becomes of records that do not decode: the query fails, or they are dropped, or kept.

The dead-letter topic is filled by a query of its own, with a checkpoint beside that of the rows:
the rows' query may aggregate, and lets nothing through but its aggregates. The price is a second
read.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from barnabas_pipeline import columns
from barnabas_pipeline.sinks.topic import ID_HEADER

REASON_HEADER: Final = "barnabas-reason"
# Where a dead letter was, by header.
_ORIGIN: Final = {
    "barnabas-topic": columns.TOPIC,
    "barnabas-partition": columns.PARTITION,
    "barnabas-offset": columns.OFFSET,
}
_NOT_ROWS: Final = (columns.VALUE, columns.BAD_REASON)


def good_rows(decoded: DataFrame, action: str) -> DataFrame:
    is_good = fn.col(columns.BAD_REASON).isNull()
    if action == "fail":
        is_good = fn.when(is_good, fn.lit(True)).otherwise(fn.raise_error(_complaint()))
    return decoded.where(is_good).drop(*_NOT_ROWS)


def dead_letters(decoded: DataFrame, topic: str) -> DataFrame:
    """Records as they were, with headers that say whence and why."""
    added = [
        _header(REASON_HEADER, fn.col(columns.BAD_REASON)),
        *(_header(name, fn.col(column)) for name, column in _ORIGIN.items()),
        _header(ID_HEADER, fn.concat_ws("/", *(fn.col(name) for name in _ORIGIN.values()))),
    ]
    kept = fn.coalesce(
        fn.col(columns.HEADERS), fn.array().cast("array<struct<key:string,value:binary>>")
    )
    return decoded.where(fn.col(columns.BAD_REASON).isNotNull()).select(
        fn.lit(topic).alias("topic"),
        fn.col(columns.KEY).cast("binary").alias("key"),
        fn.col(columns.VALUE).alias("value"),
        fn.concat(kept, fn.array(*added)).alias("headers"),
    )


def _header(name: str, value: Column) -> Column:
    text = value.cast("string").cast("binary")
    return fn.struct(fn.lit(name).alias("key"), text.alias("value"))


def _complaint() -> Column:
    return fn.concat(
        fn.lit("bad record in "),
        fn.concat_ws("-", columns.TOPIC, fn.col(columns.PARTITION).cast("string")),
        fn.lit(" at offset "),
        fn.col(columns.OFFSET).cast("string"),
        fn.lit(": "),
        fn.col(columns.BAD_REASON),
        fn.lit(". To go on without it: `bad_records: drop`, or `bad_records: {topic: ...}`"),
    )
