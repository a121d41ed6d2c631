"""Avro values: into which columns, decoded how, behind a prefix with which schema."""

import io
import json
import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from barnabas_pipeline.decode.avro import AvroDecoder
from barnabas_pipeline.decode.avro_schema import UnknownAvroType, columns_of_avro
from barnabas_pipeline.decode.undecodable import Undecodable
from barnabas_pipeline.spec.model import RegistrySpec

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
ORDER_2: dict[str, Any] = {
    **ORDER,
    "fields": [
        {"name": "country", "type": "string"},
        *ORDER["fields"],
    ],
}
EVERYTHING: dict[str, Any] = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "i", "type": "int"},
        {"name": "l", "type": "long"},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "y", "type": "bytes"},
        {"name": "s", "type": "string"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "e2", "type": "E"},
        {"name": "x", "type": {"type": "fixed", "name": "X", "size": 2}},
        {"name": "a", "type": {"type": "array", "items": "long"}},
        {"name": "m", "type": {"type": "map", "values": "string"}},
        {"name": "r", "type": ["null", ORDER]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
    ],
}


def encoded(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


def test_every_type_has_a_column_that_its_values_fit_into() -> None:
    record = {
        "b": True, "i": 1, "l": 2, "f": 0.5, "d": 0.25, "y": b"y", "s": "s", "e": "B", "e2": "A",
        "x": b"xx", "a": [1, 2], "m": {"k": "v"}, "r": {"id": 5, "note": None},
        "day": date(2026, 11, 17), "at": datetime(2026, 11, 17, 8, tzinfo=UTC),
        "price": Decimal("12.34"),
    }  # fmt: skip
    decoded = AvroDecoder(EVERYTHING, None).open()(encoded(EVERYTHING, record))

    assert decoded == record
    struct_type = StructType.fromJson(columns_of_avro(EVERYTHING))
    for field in to_arrow_schema(struct_type, timezone="UTC"):
        assert pa.array([decoded[field.name]], type=field.type).to_pylist()[0] is not None
    assert [field.dataType.simpleString() for field in struct_type.fields] == [
        "boolean", "int", "bigint", "float", "double", "binary", "string", "string", "string",
        "binary", "array<bigint>", "map<string,string>", "struct<id:bigint,note:string>", "date",
        "timestamp", "decimal(9,2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "schema",
    [
        "string",
        {"type": "record", "name": "R", "fields": [{"name": "u", "type": ["int", "string"]}]},
        {"type": "record", "name": "R", "fields": [{"name": "u", "type": "Nowhere"}]},
    ],
)
def test_a_schema_without_columns_is_refused(schema: object) -> None:
    with pytest.raises(UnknownAvroType):
        columns_of_avro(schema)


@pytest.mark.parametrize("value", [b"", b"\x02\x02\xff", encoded(ORDER, {"id": 1}) + b"!"])
def test_bytes_that_are_not_the_record_say_so(value: bytes) -> None:
    with pytest.raises(Undecodable, match="no Avro of the schema"):
        AvroDecoder(ORDER, None).open()(value)


@pytest.fixture
def registry(tmp_path: Path) -> RegistrySpec:
    (tmp_path / "1.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "2.avsc").write_text(json.dumps(ORDER_2))
    return RegistrySpec(directory=str(tmp_path))


def test_a_writer_that_moved_on_is_read_with_our_schema(registry: RegistrySpec) -> None:
    decode = AvroDecoder(ORDER, registry).open()
    old = struct.pack(">bI", 0, 1) + encoded(ORDER, {"id": 1, "note": "x"})
    new = struct.pack(">bI", 0, 2) + encoded(ORDER_2, {"country": "DE", "id": 2})

    assert decode(old) == {"id": 1, "note": "x"}
    assert decode(new) == {"id": 2, "note": None}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"\0\0\0", "too few"),
        (b"\x01\0\0\0\x01", "the first byte is 1, not 0"),
        (b"\0\0\0\0\x09" + b"x", "no schema 9"),
    ],
)
def test_a_wrong_prefix_says_what_is_wrong(
    registry: RegistrySpec, value: bytes, complaint: str
) -> None:
    with pytest.raises(Undecodable, match=complaint):
        AvroDecoder(ORDER, registry).open()(value)


def test_a_registrys_schema_that_is_none_of_avro_is_the_records_fault(tmp_path: Path) -> None:
    (tmp_path / "3.avsc").write_text('syntax = "proto3";')
    decode = AvroDecoder(ORDER, RegistrySpec(directory=str(tmp_path))).open()

    with pytest.raises(Undecodable, match="schema 3 is no Avro schema"):
        decode(struct.pack(">bI", 0, 3) + b"x")


def one_field(kind: dict[str, Any]) -> dict[str, Any]:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": kind}]}
    fields = [{"name": "x", "type": kind}, {"name": "list", "type": [{**NOTHING, "items": inner}]}]
    return {"type": "record", "name": "Outer", "fields": fields}


NOTHING = {"type": "array"}
UUID_TEXT = "0ddec4b6-b508-468d-8362-3f99c8a07a28"


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ({"type": "string", "logicalType": "uuid"}, UUID(UUID_TEXT), UUID_TEXT),
        ({"type": "int", "logicalType": "time-millis"}, time(1, 2), 3_720_000),
        ({"type": "long", "logicalType": "time-micros"}, time(1, 2), 3_720_000_000),
    ],
)
def test_logical_types_that_no_column_holds_are_given_as_they_are_stored(
    kind: dict[str, Any], value: object, stored: object
) -> None:
    schema = one_field(kind)
    record = {"x": value, "list": [{"x": value}]}

    decoded = AvroDecoder(schema, None).open()(encoded(schema, record))

    assert decoded == {"x": stored, "list": [{"x": stored}]}
    struct_type = StructType.fromJson(columns_of_avro(schema))
    for field in to_arrow_schema(struct_type, timezone="UTC"):
        assert pa.array([decoded[field.name]], type=field.type).to_pylist() == [decoded[field.name]]
