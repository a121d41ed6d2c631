"""From a document to a spec: the plain values put together, and what no single field can tell."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from barnabas_pipeline.spec import model
from barnabas_pipeline.spec.checks import check
from barnabas_pipeline.spec.ddl import parse_ddl
from barnabas_pipeline.spec.pipeline_shape import PIPELINE
from barnabas_pipeline.spec.problem import InvalidPipeline, Problem
from barnabas_pipeline.spec.reader import Reading, compose, read

Values = Mapping[str, Any]


def load_spec(path: str | Path) -> model.PipelineSpec:
    """`InvalidPipeline` with every problem of the file, `OSError` where it cannot be read."""
    file = Path(path)
    data = file.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"no UTF-8 from byte {error.start} on: save the file as UTF-8"
        raise InvalidPipeline(str(path), [Problem("", line, reason)]) from error
    return parse_spec(text, str(path), file.parent, file.stem)


def parse_spec(text: str, file: str, directory: Path, name: str) -> model.PipelineSpec:
    """Paths in the document are relative to `directory`; `name` is used where it has none."""
    reading = Reading()
    root, name = _spec_node(compose(text, file), name)
    values = cast("Values", read(PIPELINE, root, "", reading))
    if not reading.problems:
        check(values, directory, reading)
    if reading.problems:
        raise InvalidPipeline(file, reading.problems)
    return _pipeline(values, directory, name)


def _spec_node(root: yaml.Node, name: str) -> tuple[yaml.Node, str]:
    """The `spec` of a KafkaPipeline resource, which has the same shape; otherwise all of it."""
    if not isinstance(root, yaml.MappingNode):
        return root, name
    parts = {str(key.value): value for key, value in root.value}
    if "kind" not in parts or "spec" not in parts:
        return root, name
    metadata = parts.get("metadata")
    if isinstance(metadata, yaml.MappingNode):
        named = {str(key.value): value.value for key, value in metadata.value}
        name = str(named.get("name", name))
    return parts["spec"], name


def _pipeline(values: Values, directory: Path, name: str) -> model.PipelineSpec:
    source = values["source"]
    bootstrap = str(source["bootstrap"])
    return model.PipelineSpec(
        name=values["name"] or name,
        source=_source(source),
        decode=_decode(values["decode"], directory),
        steps=tuple(_step(step, directory) for step in values["steps"]),
        sinks=tuple(_sink(sink, bootstrap, directory) for sink in values["sinks"]),
        bad_records=_bad_records(values["bad_records"], bootstrap),
        trigger=_trigger(values["trigger"]),
        output_mode=values["output_mode"],
        checkpoint=resolved(values["checkpoint"], directory),
        metrics_port=values["metrics_port"],
    )


def _source(values: Values) -> model.SourceSpec:
    return model.SourceSpec(
        bootstrap=values["bootstrap"],
        topics=values["topics"] or (),
        pattern=values["pattern"],
        starting_offsets=_starting(values["starting_offsets"]),
        max_records_per_batch=values["max_records_per_batch"],
        options=values["options"] or {},
    )


def _starting(value: object) -> model.StartingOffsets:
    if isinstance(value, str):
        return model.StartingOffsets(word=value)
    chosen = cast("Values", value)
    return model.StartingOffsets(timestamp_ms=chosen["timestamp"], offsets=chosen["offsets"])


def _decode(values: Values, directory: Path) -> model.DecodeSpec:
    registry = values["registry"]
    return model.DecodeSpec(
        format=values["format"],
        schema=parse_ddl(values["schema"]) if values["schema"] else None,
        infer_from=values["infer_from"],
        schema_file=_resolved_file(values["schema_file"], directory),
        descriptor_file=_resolved_file(values["descriptor_file"], directory),
        message=values["message"],
        has_prefix=values["framing"] == "registry",
        registry=model.RegistrySpec(
            directory=_resolved_file(registry["directory"], directory),
            url=registry["url"],
            function=registry["python"],
        )
        if registry
        else None,
        key=values["key"],
        tombstones=values["tombstones"],
        options=values["options"] or {},
    )


def _step(values: Values, directory: Path) -> model.StepSpec:
    alias = values["as"]
    if values["sql"]:
        return model.SqlStep(values["sql"], alias)
    if values["python"]:
        return model.PythonStep(values["python"], alias)
    if values["watermark"]:
        watermark = values["watermark"]
        return model.WatermarkStep(watermark["column"], watermark["delay"], alias)
    table = values["table"]
    return model.TableStep(table["name"], resolved(table["path"], directory), table["format"])


def _sink(values: Values, bootstrap: str, directory: Path) -> model.SinkSpec:
    if values["parquet"]:
        parquet = values["parquet"]
        time = parquet["time"] or {}
        return model.ParquetSink(
            path=resolved(parquet["path"], directory),
            partition_by=parquet["partition_by"],
            time_column=time.get("column"),
            time_by=time.get("by"),
            target_file_bytes=parquet["target_file_size"],
            compact_after_ms=parquet["compact_after"],
        )
    if values["kafka"]:
        kafka = values["kafka"]
        return model.TopicSink(
            topic=kafka["topic"],
            bootstrap=kafka["bootstrap"] or bootstrap,
            key=kafka["key"],
            value=kafka["value"],
            record_id=kafka["id"],
            options=kafka["options"] or {},
        )
    return model.ConsoleSink(values["console"]["rows"])


def _bad_records(value: object, bootstrap: str) -> model.BadRecordsSpec:
    if isinstance(value, str):
        return model.BadRecordsSpec(value)
    chosen = cast("Values", value)
    return model.BadRecordsSpec("topic", chosen["topic"], chosen["bootstrap"] or bootstrap)


def _trigger(value: object) -> model.TriggerSpec:
    if isinstance(value, str):
        return model.TriggerSpec(value)
    chosen = cast("Values", value)
    if chosen["interval"]:
        return model.TriggerSpec("interval", chosen["interval"])
    return model.TriggerSpec("real-time", chosen["real_time"])


def resolved(path: str, directory: Path) -> str:
    """An address (`s3a://...`) as it is; a path relative to the document's directory."""
    return path if "://" in path else str((directory / path).absolute())


def _resolved_file(path: str | None, directory: Path) -> str | None:
    return str((directory / path).absolute()) if path else None
