"""The files that a decoder needs, looked into before Spark is started."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from barnabas_pipeline.spec.column_names import name_complaint

Values = Mapping[str, Any]
Complaint = tuple[str, str]


def check_files(decode: Values, directory: Path) -> Iterator[Complaint]:
    for name in ("schema_file", "descriptor_file"):
        if decode[name] and not (directory / decode[name]).is_file():
            yield f"decode.{name}", f"no such file: {directory / decode[name]}"
    registry = decode["registry"] or {}
    if registry.get("directory") and not (directory / registry["directory"]).is_dir():
        yield "decode.registry.directory", f"no such directory: {directory / registry['directory']}"
    if decode["format"] == "avro":
        yield from _avro(directory / (decode["schema_file"] or ""))
    if decode["format"] == "protobuf" and decode["message"]:
        yield from _protobuf(directory / (decode["descriptor_file"] or ""), decode["message"])


def _avro(file: Path) -> Iterator[Complaint]:
    if not file.is_file():
        return
    # Imported here: a document without Avro needs none of it.
    import fastavro  # noqa: PLC0415

    from barnabas_pipeline.decode.avro_schema import UnknownAvroType, columns_of_avro  # noqa: PLC0415

    here = "decode.schema_file"
    try:
        schema = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        yield here, f"{file} is no JSON: {error}"
        return
    try:
        fastavro.parse_schema(schema)
        columns = columns_of_avro(schema)
    except UnknownAvroType as error:
        yield here, f"{file}: {error}"
    except (fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError) as error:
        yield here, f"{file} is no Avro schema: {type(error).__name__}: {error}"
    else:
        yield from _columns(here, columns)


def _protobuf(file: Path, message: str) -> Iterator[Complaint]:
    if not file.is_file():
        return
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    from barnabas_pipeline.decode.protobuf import UnknownMessage, columns_of_message  # noqa: PLC0415

    try:
        columns = columns_of_message(file.read_bytes(), message)
    except UnknownMessage as error:
        yield "decode.message", str(error)
    except (DecodeError, TypeError) as error:
        advice = "make it with `protoc --include_imports --descriptor_set_out`"
        yield "decode.descriptor_file", f"{file} is no descriptor set ({error}): {advice}"
    else:
        yield from _columns("decode.message", columns)


def _columns(path: str, struct: Mapping[str, Any]) -> Iterator[Complaint]:
    complaint = name_complaint([str(field["name"]) for field in struct["fields"]])
    if complaint is not None:
        yield path, complaint
