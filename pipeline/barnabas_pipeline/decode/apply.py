"""The decoder of a spec, as a function from the connector's rows to decoded ones."""

import json
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from barnabas_pipeline import columns
from barnabas_pipeline.decode.avro import AvroDecoder
from barnabas_pipeline.decode.avro_schema import columns_of_avro
from barnabas_pipeline.decode.by_python import decode_by_python
from barnabas_pipeline.decode.protobuf import ProtobufDecoder, columns_of_message
from barnabas_pipeline.decode.text import decode_csv, decode_json
from barnabas_pipeline.spec.model import DecodeSpec

Decode = Callable[[DataFrame], DataFrame]


def decoder(spec: DecodeSpec, schema: StructType | None) -> Decode:
    """`schema`: the columns of a JSON or CSV value."""
    decode = _decoder_of_format(spec, schema)

    def apply(raw: DataFrame) -> DataFrame:
        rows = decode(_renamed(raw))
        if spec.tombstones == "drop":
            rows = rows.where(fn.col(columns.VALUE).isNotNull())
        if spec.key == "string":
            rows = rows.withColumn(columns.KEY, fn.col(columns.KEY).cast("string"))
        return rows

    return apply


def _decoder_of_format(spec: DecodeSpec, schema: StructType | None) -> Decode:
    if spec.format == "json":
        assert schema is not None, "declared, or inferred before"
        return lambda rows: decode_json(rows, schema, spec.options)
    if spec.format == "csv":
        assert schema is not None, "csv has a declared schema"
        return lambda rows: decode_csv(rows, schema, spec.options)
    if spec.format == "avro":
        return _avro(spec)
    if spec.format == "protobuf":
        return _protobuf(spec)
    return lambda rows: rows.select(
        fn.col(columns.VALUE).alias("value"),
        *columns.OF_SOURCE,
        fn.lit(None).cast("string").alias(columns.BAD_REASON),
    )


def _avro(spec: DecodeSpec) -> Decode:
    assert spec.schema_file is not None, "avro has a schema file"
    schema = json.loads(Path(spec.schema_file).read_text(encoding="utf-8"))
    decode = AvroDecoder(schema, spec.registry if spec.has_prefix else None)
    struct = StructType.fromJson(columns_of_avro(schema))
    return lambda rows: decode_by_python(rows, decode, struct)


def _protobuf(spec: DecodeSpec) -> Decode:
    assert spec.descriptor_file is not None, "protobuf has a descriptor"
    assert spec.message is not None, "and a message"
    descriptor = Path(spec.descriptor_file).read_bytes()
    decode = ProtobufDecoder(descriptor, spec.message, has_prefix=spec.has_prefix)
    struct = StructType.fromJson(columns_of_message(descriptor, spec.message))
    return lambda rows: decode_by_python(rows, decode, struct)


def _renamed(raw: DataFrame) -> DataFrame:
    return raw.select(*(fn.col(theirs).alias(ours) for ours, theirs in columns.OF_SOURCE.items()))
