"""The spec of a pipeline: what a document means, with every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass

# A Spark type as its own JSON has it: "long", or {"type": "struct", "fields": [...]}.
TypeJson = str | dict[str, object]


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """One of the three: a word, a moment, or offsets by topic and partition."""

    word: str | None = None
    timestamp_ms: int | None = None
    offsets: Mapping[str, Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class SourceSpec:
    bootstrap: str
    topics: tuple[str, ...]
    pattern: str | None
    starting_offsets: StartingOffsets
    max_records_per_batch: int | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RegistrySpec:
    """Where schemas are found by id; one of the three."""

    directory: str | None = None
    url: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class DecodeSpec:
    format: str
    schema: TypeJson | None
    infer_from: int | None
    schema_file: str | None
    descriptor_file: str | None
    message: str | None
    has_prefix: bool
    registry: RegistrySpec | None
    key: str
    tombstones: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SqlStep:
    query: str
    alias: str | None


@dataclass(frozen=True, slots=True)
class PythonStep:
    function: str
    alias: str | None


@dataclass(frozen=True, slots=True)
class WatermarkStep:
    column: str
    delay_ms: int
    alias: str | None


@dataclass(frozen=True, slots=True)
class TableStep:
    name: str
    path: str
    format: str


StepSpec = SqlStep | PythonStep | WatermarkStep | TableStep


@dataclass(frozen=True, slots=True)
class ParquetSink:
    path: str
    partition_by: tuple[str, ...]
    time_column: str | None
    time_by: str | None
    target_file_bytes: int
    compact_after_ms: int | None


@dataclass(frozen=True, slots=True)
class TopicSink:
    topic: str
    bootstrap: str
    key: str | None
    value: str | None
    record_id: str | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    rows: int


SinkSpec = ParquetSink | TopicSink | ConsoleSink


@dataclass(frozen=True, slots=True)
class BadRecordsSpec:
    """`action`: fail, drop or topic."""

    action: str
    topic: str | None = None
    bootstrap: str | None = None


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    """`kind`: available-now, interval or real-time."""

    kind: str
    interval_ms: int = 0


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    name: str
    source: SourceSpec
    decode: DecodeSpec
    steps: tuple[StepSpec, ...]
    sinks: tuple[SinkSpec, ...]
    bad_records: BadRecordsSpec
    trigger: TriggerSpec
    output_mode: str
    checkpoint: str
    metrics_port: int | None
