"""Rows to a topic, at least once: a batch that is given again is written again, with the same ids.

`write_batch` is the one place that writes; a writer that puts a batch and its number into one
transaction takes its place when brokers have transactions, and nothing else changes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from barnabas_pipeline import columns
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.sinks.sink import Written
from barnabas_pipeline.spec.model import TopicSink

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

ID_HEADER: Final = "barnabas-record-id"
_HASH: Final = "barnabas_hash"
_ORDINAL: Final = "barnabas_ordinal"
_ORIGIN: Final = (columns.TOPIC, columns.PARTITION, columns.OFFSET)

# A batch of columns key, value, headers, topic; its number.
BatchWriter = Callable[[DataFrame, int], None]


class TopicWriter:
    reads_once = False

    def __init__(self, spec: TopicSink, write_batch: BatchWriter | None = None) -> None:
        self._spec = spec
        self._write_batch = write_batch or at_least_once(spec)
        self._query_id = ""

    def open(self, query_id: str) -> None:
        self._query_id = query_id

    def write(self, batch: DataFrame, batch_id: int) -> Written:
        self._write_batch(self.records(batch, batch_id), batch_id)
        # Counted apart: what is observed on the way never comes out of Spark's Kafka sink.
        return Written(batch.count())

    def start(self, rows: DataFrame) -> "DataStreamWriter":
        """Rows as they come, without batches to number: only what names itself has an id."""
        if not self._spec.record_id and not set(_ORIGIN) <= set(rows.columns):
            raise PipelineError(
                "in real time a row is named by `kafka_topic`, `kafka_partition` and "
                "`kafka_offset`, which the steps dropped, or by the sink's `id`: keep them or set "
                "it"
            )
        return self.records(rows, 0).writeStream.format("kafka").options(**_options(self._spec))

    def records(self, batch: DataFrame, batch_id: int) -> DataFrame:
        spec = self._spec
        value = fn.expr(spec.value) if spec.value else _json_of(batch)
        key = fn.expr(spec.key) if spec.key else _key_of(batch)
        keyed = batch.select("*", key.alias("barnabas_key"), value.alias("barnabas_value"))
        rows, record_id = self._with_id(keyed, batch_id)
        header = fn.struct(fn.lit(ID_HEADER).alias("key"), record_id.cast("binary").alias("value"))
        return rows.select(
            fn.lit(spec.topic).alias("topic"),
            fn.col("barnabas_key").cast("binary").alias("key"),
            fn.col("barnabas_value").cast("binary").alias("value"),
            fn.array(header).alias("headers"),
        )

    def _with_id(self, rows: DataFrame, batch_id: int) -> tuple[DataFrame, Column]:
        """The same for the same row whenever the batch is given again."""
        if self._spec.record_id:
            return rows, fn.expr(self._spec.record_id).cast("string")
        if set(_ORIGIN) <= set(rows.columns):
            return rows, fn.concat_ws("/", *(fn.col(name).cast("string") for name in _ORIGIN))
        # No offset left to name it by: its content, and which of the equal ones it is.
        # A key in hex has no separator in it, and none is another than an empty one.
        key, value = fn.col("barnabas_key").cast("binary"), fn.col("barnabas_value")
        content = fn.concat_ws("/", fn.coalesce(fn.hex(key), fn.lit("-")), value.cast("string"))
        hashed = rows.withColumn(_HASH, fn.sha2(content, 256))
        equal_ones = Window.partitionBy(_HASH).orderBy(_HASH)
        numbered = hashed.withColumn(_ORDINAL, fn.row_number().over(equal_ones))
        batch = fn.lit(f"{self._query_id}/{batch_id}")
        return numbered, fn.concat_ws("/", batch, fn.col(_HASH), fn.col(_ORDINAL).cast("string"))


def at_least_once(spec: TopicSink) -> BatchWriter:
    """Spark's own sink: an idempotent producer per task, and no transaction around the batch."""
    options = _options(spec)

    def write_batch(records: DataFrame, _batch_id: int) -> None:
        records.write.format("kafka").options(**options).save()

    return write_batch


def _options(spec: TopicSink) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": spec.bootstrap,
        "kafka.acks": "all",
        "includeHeaders": "true",
        **spec.options,
    }


def _json_of(batch: DataFrame) -> Column:
    names = [name for name in batch.columns if not name.startswith(columns.PREFIX)]
    return fn.to_json(fn.struct(*(fn.col(f"`{name}`") for name in names)))


def _key_of(batch: DataFrame) -> Column:
    return fn.col(columns.KEY) if columns.KEY in batch.columns else fn.lit(None)
