"""Records of topics as Spark's connector reads them: options for a stream and for a look."""

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from barnabas_pipeline.spec.model import SourceSpec

# A poll of 500 records, Kafka's default, is followed by two questions for offsets: twice as slow.
_DEFAULTS: Final = {"kafka.max.poll.records": "50000"}
_EARLIEST: Final = -2
_LATEST: Final = -1


def read_stream(spark: SparkSession, source: SourceSpec) -> DataFrame:
    return spark.readStream.format("kafka").options(**stream_options(source)).load()


def read_batch(spark: SparkSession, source: SourceSpec) -> DataFrame:
    """What is there now, from the start that the source names; for previews."""
    options = stream_options(source)
    options.pop("maxOffsetsPerTrigger", None)
    # Of a batch, the latest would be nothing.
    if options.get("startingOffsets") == "latest":
        options["startingOffsets"] = "earliest"
    elif source.starting_offsets.offsets is not None:
        options["startingOffsets"] = json.dumps(_but_latest(source.starting_offsets.offsets))
    return spark.read.format("kafka").options(**options).load()


def _but_latest(offsets: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {
        topic: {each: _EARLIEST if at == _LATEST else at for each, at in partitions.items()}
        for topic, partitions in offsets.items()
    }


def stream_options(source: SourceSpec) -> dict[str, str]:
    options = {
        **_DEFAULTS,
        "kafka.bootstrap.servers": source.bootstrap,
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        **_starting(source),
    }
    if source.pattern is None:
        options["subscribe"] = ",".join(source.topics)
    else:
        options["subscribePattern"] = source.pattern
    if source.max_records_per_batch is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_records_per_batch)
    return {**options, **source.options}


def _starting(source: SourceSpec) -> Mapping[str, str]:
    starting = source.starting_offsets
    if starting.timestamp_ms is not None:
        return {
            "startingTimestamp": str(starting.timestamp_ms),
            # Nothing so young in a partition: begin at its end, as a consumer would.
            "startingOffsetsByTimestampStrategy": "latest",
        }
    if starting.offsets is not None:
        return {"startingOffsets": json.dumps(starting.offsets)}
    return {"startingOffsets": starting.word or "earliest"}
