"""What fields say only together: which decoder needs which of them, and what cannot go together."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from os.path import normpath
from pathlib import Path
from typing import Any, Final

from barnabas_pipeline.spec.column_names import name_complaint
from barnabas_pipeline.spec.ddl import parse_ddl
from barnabas_pipeline.spec.reader import Reading
from barnabas_pipeline.spec.schema_files import check_files

Values = Mapping[str, Any]
Complaint = tuple[str, str]

# Which fields of `decode` mean something for which format.
_USED: Final = {
    "json": {"schema", "infer_from", "options"},
    "csv": {"schema", "options"},
    "avro": {"schema_file", "framing", "registry"},
    "protobuf": {"descriptor_file", "message", "framing"},
    "raw": set[str](),
}
# Spark's own least, and the oldest version that has the mode in Python.
_REAL_TIME_MS_MIN: Final = 5_000
_REAL_TIME_VERSION: Final = (4, 2)
_IS_READ: Final = "is read by this pipeline (`source`)"
_SPECIAL: Final = set().union(*_USED.values()) - {"framing"}


def check(values: Values, directory: Path, reading: Reading) -> None:
    """Called on values that have their shape."""
    for path, message in (
        *_source(values["source"]),
        *_decode(values["decode"]),
        *check_files(values["decode"], directory),
        *_tables(values),
        *_circles(values),
        *_steps(values["steps"]),
        *_trigger(values),
    ):
        reading.complain(path, message)


def _decode(decode: Values) -> Iterator[Complaint]:
    kind = decode["format"]
    for name in sorted(_SPECIAL - _USED[kind]):
        if decode[name]:
            formats = [each for each, used in _USED.items() if name in used]
            yield f"decode.{name}", f"means nothing for {kind}: remove it ({', '.join(formats)})"
    if decode["framing"] == "registry" and "framing" not in _USED[kind]:
        yield "decode.framing", f"{kind} has no registry's prefix: only avro and protobuf do"
    if kind == "json" and bool(decode["schema"]) == bool(decode["infer_from"]):
        yield "decode", "json wants either `schema` or `infer_from`"
    if kind == "csv" and not decode["schema"]:
        yield "decode", "csv wants `schema`, the columns in order"
    if kind == "avro" and not decode["schema_file"]:
        yield "decode", "avro wants `schema_file`, the schema to read with"
    if kind == "protobuf" and not (decode["descriptor_file"] and decode["message"]):
        yield "decode", "protobuf wants `descriptor_file` and `message`"
    if kind == "avro" and decode["framing"] == "registry" and not decode["registry"]:
        yield "decode", "behind a registry's prefix avro wants `registry`: where schemas are found"
    if decode["registry"] and decode["framing"] != "registry":
        yield "decode.registry", "is used with `framing: registry` only: add that"
    yield from _schema(decode["schema"])


def _schema(text: str | None) -> Iterator[Complaint]:
    if not text:
        return
    try:
        parsed = parse_ddl(text)
    except ValueError as error:
        yield "decode.schema", str(error)
        return
    assert isinstance(parsed, dict)
    names = [str(field["name"]) for field in parsed["fields"]]  # type: ignore[attr-defined]
    complaint = name_complaint(names)
    if complaint is not None:
        yield "decode.schema", complaint


def _source(source: Values) -> Iterator[Complaint]:
    """Spark wants an offset for every partition, and no topic but those it reads."""
    starting = source["starting_offsets"]
    offsets = starting["offsets"] if isinstance(starting, Mapping) else None
    if offsets is None:
        return
    here = "source.starting_offsets.offsets"
    for topic, partitions in offsets.items():
        if source["topics"] and topic not in source["topics"]:
            yield f"{here}.{topic}", "is not one of `topics`: remove it, or add the topic there"
        for partition in partitions:
            if not partition.isdecimal():
                yield f"{here}.{topic}.{partition}", "a partition is a number, from 0 on"
    for topic in source["topics"] or ():
        if topic not in offsets:
            yield here, f"`{topic}` is missing: name an offset for each of its partitions"


def _tables(values: Values) -> Iterator[Complaint]:
    paths = [normpath(sink["parquet"]["path"]) for sink in values["sinks"] if sink["parquet"]]
    for index, sink in enumerate(values["sinks"]):
        parquet = sink["parquet"]
        here = f"sinks[{index}].parquet"
        if not parquet:
            continue
        if parquet["compact_after"] and not parquet["time"]:
            yield f"{here}.compact_after", "wants `time`: only its partitions are ever closed"
        if paths.count(normpath(parquet["path"])) > 1:
            yield f"{here}.path", "two sinks cannot share a table: take another path"
        if values["output_mode"] == "complete":
            yield f"{here}", "files are only added to: `output_mode` append or update"


def _circles(values: Values) -> Iterator[Complaint]:
    """Topics that the pipeline would read what it writes to."""
    source = values["source"]
    for index, sink in enumerate(values["sinks"]):
        if sink["kafka"] and _reads(source, sink["kafka"]):
            yield f"sinks[{index}].kafka.topic", f"{_IS_READ}: it would never end"
    bad = values["bad_records"]
    if isinstance(bad, Mapping) and _reads(source, bad):
        yield "bad_records.topic", f"{_IS_READ}: bad records would go round"


def _reads(source: Values, written: Values) -> bool:
    if written["bootstrap"] not in (None, source["bootstrap"]):
        return False
    if source["pattern"]:
        return re.fullmatch(source["pattern"], written["topic"]) is not None
    return written["topic"] in source["topics"]


def _steps(steps: tuple[Values, ...]) -> Iterator[Complaint]:
    for index, step in enumerate(steps):
        if step["as"] == "stream":
            yield f"steps[{index}].as", "`stream` is the outcome of the step before: take another"
        if step["table"] and step["table"]["name"] == "stream":
            yield f"steps[{index}].table.name", "`stream` is taken: take another name"
        if step["table"] and step["as"]:
            yield f"steps[{index}].as", "a table has its `name`: remove this"


def _trigger(values: Values) -> Iterator[Complaint]:
    trigger = values["trigger"]
    if not isinstance(trigger, Mapping) or not trigger["real_time"]:
        return
    here = "trigger.real_time"
    installed = _spark_version()
    if installed is not None and installed < _REAL_TIME_VERSION:
        yield here, f"Spark {installed[0]}.{installed[1]} has no real-time mode in Python, 4.2 does"
    if trigger["real_time"] < _REAL_TIME_MS_MIN:
        yield here, "Spark wants at least 5s between checkpoints; records do not wait for them"
    if [sink["kafka"] is not None for sink in values["sinks"]] != [True]:
        yield here, "writes to one `kafka` sink and nothing else: use `interval` for files"
    if isinstance(values["bad_records"], Mapping):
        yield here, "has no dead-letter topic: `bad_records` fail or drop, or use `interval`"
    if values["output_mode"] != "update":
        yield here, "wants `output_mode: update`, as rows leave at once"


def _spark_version() -> tuple[int, int] | None:
    """Of the package that is installed, which need not be imported for that."""
    try:
        major, minor = version("pyspark").split(".")[:2]
    except PackageNotFoundError:
        return None
    return int(major), int(minor)
