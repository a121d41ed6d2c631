"""`spark.read.format("barnabas-segments")`: closed log segments as a table, without a broker.

    from barnabas_pipeline.segments.source import register
    register(spark)
    spark.read.format("barnabas-segments").option("subscribe", "orders").load("/var/lib/kafka")

The columns are those of Spark's Kafka source. The driver plans (`plan`), each task reads one
segment (`segment_reader`) and hands Arrow batches to Spark.

What to read is said by options: topics, partitions, offsets, a first timestamp. Spark can also hand
over the conditions of a query, but keeps the plan made for them with the DataFrame, and uses it for
the DataFrame's next query whatever that asks for (seen in 4.2 and in the sources of later ones). So
conditions are taken only with the option `pushdown`, for a DataFrame that has one query.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.segments.arrow_columns import arrow_schema
from barnabas_pipeline.segments.batch_rows import BATCH_SCHEMA, read_batches
from barnabas_pipeline.segments.log_files import find_partitions
from barnabas_pipeline.segments.options import Rows, SourceOptions, parse_options
from barnabas_pipeline.segments.plan import SegmentSlice, plan_slices
from barnabas_pipeline.segments.pushdown import push_filters
from barnabas_pipeline.segments.segment_reader import open_segment, read_records

FORMAT: Final = "barnabas-segments"


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(SegmentSource)


class SegmentPartition(InputPartition):
    def __init__(self, planned: SegmentSlice) -> None:
        super().__init__(planned)
        self.planned = planned


class SegmentSource(DataSource):
    """The entry: what the table looks like, and who reads it."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._parsed = parse_options(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return from_arrow_schema(_schema_of(self._parsed))

    def reader(self, schema: StructType) -> "SegmentSourceReader":
        kind = FilteringReader if self._parsed.takes_filters else SegmentSourceReader
        return kind(self._parsed)


def _schema_of(options: SourceOptions) -> pa.Schema:
    return BATCH_SCHEMA if options.rows is Rows.BATCHES else arrow_schema(options.columns)


class SegmentSourceReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._selection = options.selection

    def partitions(self) -> list[Any]:
        disk = RealDisk()
        found = find_partitions(disk, self._options.paths, self._options.selection.topics)
        planned = plan_slices(disk, found, self._selection, self._options.limits)
        return [SegmentPartition(one) for one in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SegmentPartition)
        opened = open_segment(partition.planned)
        if self._options.rows is Rows.BATCHES:
            return read_batches(opened, checks_records=self._options.checks_records)
        return read_records(opened, self._options.columns, self._options.on_corrupt)


class FilteringReader(SegmentSourceReader):
    """Spark asks it only while `spark.sql.python.filterPushdown.enabled` is true."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        self._selection, left = push_filters(filters, self._options.selection)
        return left
