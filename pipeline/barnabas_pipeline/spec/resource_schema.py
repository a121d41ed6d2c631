"""The shape of a pipeline as OpenAPI has it, for the `spec` of a KafkaPipeline resource."""

from typing import Any

from barnabas_pipeline.spec.pipeline_shape import PIPELINE
from barnabas_pipeline.spec.shape import Choice, Either, ListOf, MapOf, Record, Scalar, Shape


def resource_schema() -> dict[str, Any]:
    return _schema(PIPELINE)


def _schema(shape: Shape) -> dict[str, Any]:
    match shape:
        case Scalar():
            return {"type": shape.json_type}
        case Choice():
            return {"type": "string", "enum": list(shape.values)}
        case ListOf():
            least = {"minItems": shape.at_least} if shape.at_least else {}
            return {"type": "array", "items": _schema(shape.item), **least}
        case MapOf():
            return {"type": "object", "additionalProperties": _schema(shape.value)}
        case Either():
            # A structural schema has no union of types: the operator checks it with the reader.
            return {"x-kubernetes-preserve-unknown-fields": True}
        case Record():
            return _record(shape)


def _record(shape: Record) -> dict[str, Any]:
    properties = {
        field.name: {**_schema(field.shape), "description": field.doc} for field in shape.fields
    }
    required = [field.name for field in shape.fields if field.required]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if shape.exactly_one:
        schema["oneOf"] = [{"required": [name]} for name in shape.exactly_one]
    return schema
