"""Check the codec against vectors: bytes that another implementation wrote, and the values in them.

usage: check_vectors.py DIR...

Every line of every `*.jsonl.gz` in the directories is one vector: message, version, hex, json. It
passes if the bytes decode to the values, the decoded message encodes to the bytes, and a message
built from the values does so too. In files called `defaults*` every value must also be the
default of its field.
"""

import base64
import binascii
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from barnabas_core.wire.catalog import message_class
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import WireError
from barnabas_core.wire.primitive import uuid_from_text, uuid_text
from barnabas_core.wire.schema import Field, Message, Struct

Value: TypeAlias = Any  # of a field, or of JSON: the field says which
Json: TypeAlias = dict[str, Value]
S = TypeVar("S", bound=Struct)


class Mismatch(Exception):
    """The codec and the vector disagree."""


class Vector(NamedTuple):
    message: str
    version: int
    data: bytes
    values: Json
    are_defaults: bool


class Failure(NamedTuple):
    file: str
    line: int
    reason: str


def check_vector(vector: Vector) -> None:
    """Raises `Mismatch`, or the codec's own error."""
    message = message_class(vector.message)
    decoded = decode(message, vector.version, vector.data)
    _check_values(decoded, vector)
    if encode(decoded, vector.version) != vector.data:
        raise Mismatch("the decoded message encodes to other bytes")
    if encode(from_json(message, vector.values, vector.version), vector.version) != vector.data:
        raise Mismatch("a message with these values encodes to other bytes")


def _check_values(decoded: Message, vector: Vector) -> None:
    # A tagged field that has its default is not on the wire, and may be left out of the values.
    full = to_json(decoded, vector.version, with_tagged_defaults=True)
    brief = to_json(decoded, vector.version, with_tagged_defaults=False)
    if _text(vector.values) not in {_text(full), _text(brief)}:
        raise Mismatch(f"decoded to {_text(brief)}")
    if vector.are_defaults:
        _check_defaults(decoded, vector.version)


def _check_defaults(value: Struct, version: int) -> None:
    plain = type(value)()
    for field in value.FIELDS:
        if not field.is_in(version) or field.type == "records":
            continue
        mine = getattr(value, field.name)
        if field.struct is not None and mine is not None:
            for part in mine if field.is_array else [mine]:
                _check_defaults(part, version)
        elif mine != getattr(plain, field.name):
            raise Mismatch(f"the default of {field.name} is not {mine!r}")


def _text(values: Json) -> str:
    """True is not 1 here, and 2.0 is not 2."""
    return json.dumps(values, sort_keys=True)


def to_json(value: Struct, version: int, *, with_tagged_defaults: bool) -> Json:
    plain = type(value)()
    return {
        field.name: _json_value(field, getattr(value, field.name), version, with_tagged_defaults)
        for field in value.FIELDS
        if field.is_in(version)
        and (
            with_tagged_defaults
            or field.tag is None
            or getattr(value, field.name) != getattr(plain, field.name)
        )
    }


def _json_value(field: Field, value: Value, version: int, full: bool) -> object:  # noqa: FBT001
    if value is None:
        return None
    if field.is_array:
        element = field._replace(type=field.element)
        return [_json_value(element, item, version, full) for item in value]
    if field.struct is not None:
        return to_json(value, version, with_tagged_defaults=full)
    if field.type == "uuid":
        return uuid_text(value)
    if field.type in {"bytes", "records"}:
        return base64.b64encode(value).decode("ascii")
    return value


def from_json(struct: type[S], values: Json, version: int) -> S:
    fields = {field.name: field for field in struct.FIELDS if field.is_in(version)}
    unknown = values.keys() - fields
    if unknown:
        raise Mismatch(f"{struct.__name__} has no fields {sorted(unknown)}")
    return struct(**{name: _value(fields[name], values[name], version) for name in values})


def _value(field: Field, value: Value, version: int) -> object:
    if value is None:
        return None
    if field.is_array:
        element = field._replace(type=field.element)
        return [_value(element, item, version) for item in value]
    if field.struct is not None:
        return from_json(field.struct, value, version)
    if field.type == "uuid":
        return uuid_from_text(value)
    if field.type in {"bytes", "records"}:
        return base64.b64decode(value, validate=True)
    return value


def read_vectors(path: Path) -> Iterator[tuple[int, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from enumerate(lines, start=1)


def parse_vector(line: str, *, are_defaults: bool) -> Vector:
    row = json.loads(line)
    data = bytes.fromhex(row["hex"])
    return Vector(row["message"], row["version"], data, row["json"], are_defaults)


def check_file(path: Path) -> tuple[int, list[Failure]]:
    """(how many vectors, those that failed)."""
    count, failures = 0, []
    for number, line in read_vectors(path):
        count += 1
        try:
            check_vector(parse_vector(line, are_defaults=path.name.startswith("defaults")))
        except (Mismatch, WireError, binascii.Error, KeyError, TypeError, ValueError) as error:
            failures.append(Failure(str(path), number, f"{type(error).__name__}: {error}"))
    return count, failures


def main(directories: list[str]) -> int:
    count, failures = 0, []
    for path in sorted(path for name in directories for path in Path(name).glob("*.jsonl.gz")):
        more, failed = check_file(path)
        print(f"{more:6d} {path}")
        count += more
        failures += failed
    for failure in failures:
        print(f"FAIL {failure.file}:{failure.line}: {failure.reason}")
    print(f"{count} vectors, {len(failures)} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
