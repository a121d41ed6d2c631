"""Rows of Spark as plain tuples, from the connector and from segments."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from barnabas_pipeline.segments.source import FORMAT, register

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

Plain = tuple[Any, ...]


def from_connector(spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .options(**options)
        .load()
    )


def from_segments(spark: SparkSession, path: str, topic: str, **options: str) -> DataFrame:
    register(spark)
    reader = spark.read.format(FORMAT).option("subscribe", topic).option("includeHeaders", "true")
    return reader.options(**options).load(path)


def plain_rows(rows: DataFrame) -> list[Plain]:
    """In the order of partitions and offsets, which no source promises."""
    found = rows.select(*COLUMNS).collect()
    return sorted(
        (
            (*row[:-1], None if row.headers is None else tuple(map(tuple, row.headers)))
            for row in found
        ),
        key=lambda row: (row[3], row[4]),
    )
