"""Avro values, one record each without a file's header, by fastavro.

Behind a registry's prefix the writer's schema is looked up by its id and resolved against ours, so
the columns stay what the spec's schema file says while writers move on.
"""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import fastavro
from fastavro.schema import SchemaParseException

from barnabas_pipeline.decode.avro_schema import stored_types
from barnabas_pipeline.decode.registry import Lookup, open_lookup, split_prefix
from barnabas_pipeline.decode.undecodable import Undecodable
from barnabas_pipeline.spec.model import RegistrySpec


@dataclass(frozen=True, slots=True)
class AvroDecoder:
    """`registry` None: values without prefix, written with the schema itself."""

    schema: dict[str, Any]
    registry: RegistrySpec | None

    def open(self) -> Callable[[bytes], dict[str, Any]]:
        if self.registry is None:
            parsed = fastavro.parse_schema(stored_types(self.schema))
            return lambda value: _read(io.BytesIO(value), parsed, None)
        return _WithPrefix(self.schema, open_lookup(self.registry))


class _WithPrefix:
    def __init__(self, schema: dict[str, Any], lookup: Lookup) -> None:
        self._reader = fastavro.parse_schema(stored_types(schema))
        self._lookup = lookup
        self._writers: dict[int, Any] = {}

    def __call__(self, value: bytes) -> dict[str, Any]:
        schema_id, start = split_prefix(value)
        stream = io.BytesIO(value)
        stream.seek(start)
        return _read(stream, self._writer(schema_id), self._reader)

    def _writer(self, schema_id: int) -> Any:
        writer = self._writers.get(schema_id)
        if writer is None:
            writer = self._writers[schema_id] = _parsed(schema_id, self._lookup(schema_id))
        return writer


def _parsed(schema_id: int, text: str) -> Any:
    try:
        return fastavro.parse_schema(stored_types(json.loads(text)))
    except (SchemaParseException, ValueError, KeyError, TypeError) as error:
        raise Undecodable(f"schema {schema_id} is no Avro schema: {error}") from error


def _read(stream: io.BytesIO, writer: Any, reader: Any) -> dict[str, Any]:
    try:
        record = fastavro.schemaless_reader(stream, writer, reader)
    except Exception as error:  # fastavro raises whatever its parser ran into
        raise Undecodable(f"no Avro of the schema: {type(error).__name__}: {error}") from error
    left = len(stream.getbuffer()) - stream.tell()
    if left:
        raise Undecodable(f"no Avro of the schema: {left} bytes are left over")
    return cast("dict[str, Any]", record)
