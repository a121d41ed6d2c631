"""Records for a topic, and the one place that writes them."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from barnabas_pipeline.sinks.topic import TopicWriter
from barnabas_pipeline.spec.model import TopicSink


def sink(record_id: str | None = None) -> TopicSink:
    return TopicSink("target", "127.0.0.1:1", "country", None, record_id, {})


@pytest.fixture
def written() -> tuple[list[tuple[int, list[Row]]], Callable[[DataFrame, int], None]]:
    """What a writer of another kind is given, and that writer."""
    batches: list[tuple[int, list[Row]]] = []
    return batches, lambda records, batch_id: batches.append((batch_id, records.collect()))


Written = tuple[list[tuple[int, list[Row]]], Callable[[DataFrame, int], None]]


def rows(spark: SparkSession) -> DataFrame:
    """Two of them the same."""
    values = [("DE", 1), ("FR", 2), ("FR", 2)]
    return spark.createDataFrame(values, "country STRING, n BIGINT")


def ids(records: list[Row]) -> list[str]:
    return sorted(bytes(record.headers[0].value).decode() for record in records)


def test_a_batch_given_again_has_the_same_ids_and_equal_rows_have_two(
    spark: SparkSession, written: Written
) -> None:
    batches, write_batch = written
    writer = TopicWriter(sink(), write_batch)
    writer.open("query")

    for data in (rows(spark), rows(spark).repartition(3)):
        assert writer.write(data, 7).rows == 3

    (_, first), (_, second) = batches
    assert ids(first) == ids(second)
    assert len(set(ids(first))) == 3
    assert all(name.startswith("query/7/") for name in ids(first))


def test_another_batch_has_other_ids(spark: SparkSession, written: Written) -> None:
    batches, write_batch = written
    writer = TopicWriter(sink(), write_batch)
    writer.open("query")

    writer.write(rows(spark), 1)
    writer.write(rows(spark), 2)

    assert [batch_id for batch_id, _ in batches] == [1, 2]
    assert not set(ids(batches[0][1])) & set(ids(batches[1][1]))


def test_a_key_without_value_and_a_value_without_key_have_other_ids(
    spark: SparkSession, written: Written
) -> None:
    batches, write_batch = written
    spec = TopicSink("target", "127.0.0.1:1", "k", "v", None, {})
    data = spark.createDataFrame([("a", None), (None, "a")], "k STRING, v STRING")

    TopicWriter(spec, write_batch).write(data, 0)

    (_, records), *_ = batches
    assert len({name.split("/")[2] for name in ids(records)}) == 2


def test_an_id_may_be_declared(spark: SparkSession, written: Written) -> None:
    batches, write_batch = written
    TopicWriter(sink("concat(country, '-', n)"), write_batch).write(rows(spark), 0)

    (_, records), *_ = batches
    assert ids(records) == ["DE-1", "FR-2", "FR-2"]
    record = min(records, key=lambda each: bytes(each.key))
    assert (bytes(record.key), bytes(record.value)) == (b"DE", b'{"country":"DE","n":1}')
