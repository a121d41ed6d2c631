"""What happens to decoded rows: SQL over named views, functions of the user's, watermarks, tables.

Everything else that Spark can do with a stream (windows, deduplication, joins) is plain SQL here.
"""

from pathlib import Path
from typing import Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from barnabas_pipeline.importing import import_function
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.spec.model import PythonStep, SqlStep, StepSpec, TableStep, WatermarkStep

STREAM: Final = "stream"


def apply_steps(
    spark: SparkSession, rows: DataFrame, steps: tuple[StepSpec, ...], directory: Path
) -> DataFrame:
    """The session keeps the views: give each pipeline one of its own."""
    for index, step in enumerate(steps):
        rows.createOrReplaceTempView(STREAM)
        try:
            rows = _apply(spark, rows, step, directory)
        except (AnalysisException, ParseException) as error:
            raise PipelineError(f"steps[{index}]: {first_lines(error)}") from error
        alias = None if isinstance(step, TableStep) else step.alias
        if alias is not None:
            rows.createOrReplaceTempView(alias)
    return rows


def _apply(spark: SparkSession, rows: DataFrame, step: StepSpec, directory: Path) -> DataFrame:
    match step:
        case SqlStep():
            return spark.sql(step.query)
        case WatermarkStep():
            return rows.withWatermark(step.column, f"{step.delay_ms} milliseconds")
        case TableStep():
            table = spark.read.format(step.format).load(step.path)
            table.createOrReplaceTempView(step.name)
            return rows
        case PythonStep():
            outcome = import_function(step.function, directory, spark)(rows)
            if not isinstance(outcome, DataFrame):
                kind = type(outcome).__name__
                raise PipelineError(f"{step.function} gave a {kind}, and not a DataFrame")
            return outcome


def first_lines(error: Exception) -> str:
    return str(error).partition(";\n")[0].strip()
