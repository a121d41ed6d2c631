"""An endpoint as a DataFrame with the columns of Spark's Kafka source, and expressions over it."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f

from barnabas_pipeline.audit.spec import Endpoint, SegmentsEndpoint, TopicEndpoint
from barnabas_pipeline.segments import source

HEADER_PREFIX: Final = "header:"


def load_rows(spark: SparkSession, endpoint: Endpoint) -> DataFrame:
    """All records. Of damaged segments those that are sound: `batches` tells of the others."""
    if isinstance(endpoint, TopicEndpoint):
        return _load_topic(spark, endpoint)
    if isinstance(endpoint, SegmentsEndpoint):
        return (
            segments_reader(spark, endpoint)
            .option("includeHeaders", "true")
            .option("onCorrupt", "skip")
            .load(",".join(endpoint.paths))
        )
    return spark.read.parquet(endpoint.path)


def _load_topic(spark: SparkSession, endpoint: TopicEndpoint) -> DataFrame:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", endpoint.bootstrap_servers)
        .option("subscribe", endpoint.topic)
        .option("includeHeaders", "true")
        .option("kafka.max.poll.records", "50000")
        .options(**endpoint.options)
        .load()
    )


def load_batches(spark: SparkSession, endpoint: SegmentsEndpoint) -> DataFrame:
    reader = segments_reader(spark, endpoint).option("rows", "batches")
    return reader.option("verifyRecords", "true").load(",".join(endpoint.paths))


def segments_reader(spark: SparkSession, endpoint: SegmentsEndpoint) -> DataFrameReader:
    source.register(spark)
    active = "true" if endpoint.includes_active else "false"
    reader = spark.read.format(source.FORMAT).option("includeActive", active)
    return reader.option("subscribe", endpoint.topic)


def expression(text: str) -> Column:
    """SQL, or `header:NAME`."""
    if not text.startswith(HEADER_PREFIX):
        return f.expr(text)
    name = text.removeprefix(HEADER_PREFIX)
    named = f.filter("headers", lambda header: header["key"] == f.lit(name))
    # `try_`: a record without that header has no id, which is no error.
    return f.try_element_at(named, f.lit(-1))["value"]


def expressions(texts: Sequence[str], prefix: str) -> list[Column]:
    """Named prefix0, prefix1, ..."""
    return [expression(text).alias(f"{prefix}{number}") for number, text in enumerate(texts)]
