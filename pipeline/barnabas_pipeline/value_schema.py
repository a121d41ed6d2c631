"""The columns of a JSON or CSV value: declared, or inferred once and kept with the checkpoint.

Inferred again at every start they would follow whatever came last, and a table's columns with them.
"""

import json
from typing import Any, cast

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from barnabas_pipeline.files import Files
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.source import read_batch
from barnabas_pipeline.spec.model import PipelineSpec


def value_schema(spark: SparkSession, spec: PipelineSpec, *, pin: bool) -> StructType | None:
    """None for formats that bring their own; `pin` keeps what was inferred."""
    if spec.decode.schema is not None:
        return StructType.fromJson(cast("dict[str, Any]", spec.decode.schema))
    if spec.decode.infer_from is None:
        return None
    files = Files(spark, spec.checkpoint)
    path = f"{spec.checkpoint}/barnabas/schema.json"
    text = files.read_text(path)
    if text is not None:
        return StructType.fromJson(json.loads(text))
    inferred = _infer(spark, spec, spec.decode.infer_from)
    if pin:
        files.write_text(path, inferred.json())
    return inferred


def _infer(spark: SparkSession, spec: PipelineSpec, count: int) -> StructType:
    values = read_batch(spark, spec.source).where(fn.col("value").isNotNull())
    rows = values.select(fn.col("value").cast("string")).limit(count).collect()
    texts = spark.sparkContext.parallelize([row[0] for row in rows])
    inferred = spark.read.option("mode", "DROPMALFORMED").json(texts).schema
    if not inferred.fields:
        raise PipelineError(
            f"{spec.name}: no JSON record to infer columns from yet: declare `decode.schema`, or "
            "start again when there are some"
        )
    return inferred
