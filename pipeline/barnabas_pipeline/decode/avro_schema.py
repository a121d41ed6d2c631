"""An Avro schema to Spark's columns, without Spark: the types that fastavro's values fit into."""

from collections.abc import Mapping
from typing import Any, Final

from barnabas_pipeline.spec.model import TypeJson

_PRIMITIVE: Final = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "null": "void",
}
_LOGICAL: Final = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
# fastavro makes objects of these that no column holds: they stay the text and numbers they are.
_AS_STORED: Final = ("uuid", "time-millis", "time-micros")
_NESTED: Final = ("type", "fields", "items", "values")


class UnknownAvroType(ValueError):
    """A schema that has no columns; the message names the part."""


def columns_of_avro(schema: Any) -> dict[str, Any]:
    """Spark's JSON of a record's columns."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UnknownAvroType("the schema of a value has to be a record")
    return _record(schema, {})


def stored_types(schema: Any) -> Any:
    """The schema without logical types that have no column; the bytes mean the same."""
    if isinstance(schema, list):
        return [stored_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    is_left_out = schema.get("logicalType") in _AS_STORED
    return {
        name: stored_types(value) if name in _NESTED else value
        for name, value in schema.items()
        if not (name == "logicalType" and is_left_out)
    }


def _record(schema: Mapping[str, Any], named: dict[str, TypeJson]) -> dict[str, Any]:
    fields = []
    for field in schema["fields"]:
        kind, nullable = _type(field["type"], named)
        fields.append({"name": field["name"], "type": kind, "nullable": nullable, "metadata": {}})
    struct: dict[str, Any] = {"type": "struct", "fields": fields}
    named[schema["name"]] = struct
    return struct


def _type(schema: Any, named: dict[str, TypeJson]) -> tuple[TypeJson, bool]:
    """And whether it can be null."""
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        if schema in _PRIMITIVE:
            return _PRIMITIVE[schema], schema == "null"
        if schema.rpartition(".")[2] in named:
            return named[schema.rpartition(".")[2]], False
        raise UnknownAvroType(f"`{schema}` is no type, and none of this name came before")
    return _complex(schema, named), False


def _union(branches: list[Any], named: dict[str, TypeJson]) -> tuple[TypeJson, bool]:
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        raise UnknownAvroType("a union of several types has no column: only one and null have")
    return _type(others[0], named)[0], len(others) < len(branches)


def _complex(schema: Mapping[str, Any], named: dict[str, TypeJson]) -> TypeJson:
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    kind = schema["type"]
    if kind == "record":
        return _record(schema, named)
    if kind in ("array", "map"):
        return _collection(schema, named)
    if kind in ("enum", "fixed"):
        return named.setdefault(schema["name"], "string" if kind == "enum" else "binary")
    return _type(kind, named)[0]


def _collection(schema: Mapping[str, Any], named: dict[str, TypeJson]) -> TypeJson:
    if schema["type"] == "array":
        element, _ = _type(schema["items"], named)
        return {"type": "array", "elementType": element, "containsNull": True}
    value, _ = _type(schema["values"], named)
    return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}
