"""JSON and CSV by Spark's own parsers, which run in the JVM and know every type.

Their permissive mode gives what it can and keeps the text of a row that did not fit; that text
being there is what makes a row bad. A column declared NOT NULL that came out null does too.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import StringType, StructField, StructType

from barnabas_pipeline import columns

_MISFIT: Final = "barnabas_misfit"
_PARSED: Final = "barnabas_parsed"
_MODE: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MISFIT}


def decode_json(rows: DataFrame, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    text = fn.col(columns.VALUE).cast("string")
    parsed = fn.from_json(text, _with_misfit(schema), {**options, **_MODE})
    return _outcome(rows.withColumn(_PARSED, parsed), schema, _json_misfit(text, schema))


def decode_csv(rows: DataFrame, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    text = fn.col(columns.VALUE).cast("string")
    columns_text = ", ".join(
        f"`{field.name}` {field.dataType.simpleString()}" for field in _with_misfit(schema).fields
    )
    parsed = fn.from_csv(text, fn.lit(columns_text), {**options, **_MODE})
    if len(schema.fields) > 1:
        # Of nothing the parser makes a row of nulls, though it lacks all columns but one.
        parsed = fn.when(fn.trim(text) != "", parsed)
    return _outcome(
        rows.withColumn(_PARSED, parsed), schema, fn.lit("the value is not CSV of the columns")
    )


def _with_misfit(schema: StructType) -> StructType:
    # Nullable for the parser, whatever is declared: it would invent defaults for missing values.
    fields = [StructField(field.name, field.dataType) for field in schema.fields]
    return StructType([*fields, StructField(_MISFIT, StringType())])


def _outcome(rows: DataFrame, schema: StructType, misfit: Column) -> DataFrame:
    is_tombstone = fn.col(columns.VALUE).isNull()
    # Of nothing, and of `null`, the parsers make no row and no complaint.
    is_misfit = fn.col(_PARSED).isNull() | _field(_MISFIT).isNotNull()
    reason = fn.when(is_tombstone, None).when(is_misfit, misfit)
    for field in schema.fields:
        if not field.nullable:
            missing = fn.lit(f"field {field.name} is missing")
            reason = reason.when(_field(field.name).isNull(), missing)
    return rows.select(
        *(_field(field.name).alias(field.name) for field in schema.fields),
        *columns.OF_SOURCE,
        reason.cast("string").alias(columns.BAD_REASON),
    )


def _json_misfit(text: Column, schema: StructType) -> Column:
    """Why, in words: computed for bad rows only."""
    reason = fn.when(fn.get_json_object(text, "$").isNull(), fn.lit("the value is not JSON"))
    for field in schema.fields:
        given = fn.get_json_object(text, f"$['{field.name}']")
        wrong = _field(field.name).isNull() & given.isNotNull()
        wanted = field.dataType.simpleString()
        said = fn.concat(
            fn.lit(f"field {field.name} is no {wanted}: "), fn.substring(given, 1, 100)
        )
        reason = reason.when(wrong, said)
    return reason.otherwise(fn.lit("the value does not fit the schema"))


def _field(name: str) -> Column:
    return fn.col(_PARSED).getField(name)
