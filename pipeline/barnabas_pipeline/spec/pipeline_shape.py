"""The fields of a pipeline: the one list that the reader, the docs and the resource come from."""

import re
from datetime import UTC, datetime
from typing import Final

from barnabas_pipeline.spec.quantity import duration_ms, size_bytes
from barnabas_pipeline.spec.shape import Choice, Either, Field, ListOf, MapOf, Record, Scalar

_IMPORT_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("a text that is not empty")
    return text


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise ValueError("a whole number of at least 1")
    return int(text)


def _offset(text: str) -> int:
    if not re.fullmatch(r"-[12]|[0-9]+", text):
        raise ValueError("an offset, -2 for the earliest or -1 for the latest")
    return int(text)


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError("a port, 0 for a free one")
    return int(text)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"a regular expression ({error})") from error
    return _text(text)


def _timestamp_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip().replace(" ", "T"))
    except ValueError as error:
        raise ValueError("a moment such as `2026-11-17T08:00:00Z`") from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def _matching(pattern: re.Pattern[str], what: str) -> Scalar:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(what)
        return text

    return Scalar(what, parse)


TEXT: Final = Scalar("text", _text)
COUNT: Final = Scalar("whole number", _count, "integer")
OFFSET: Final = Scalar("offset", _offset, "integer")
PORT: Final = Scalar("port", _port, "integer")
DURATION: Final = Scalar("duration", duration_ms)
SIZE: Final = Scalar("size", size_bytes)
PATTERN: Final = Scalar("regular expression", _pattern)
MOMENT: Final = Scalar("moment", _timestamp_ms)
TOPIC: Final = _matching(_TOPIC, "a topic's name (letters, digits, `.`, `_`, `-`)")
FUNCTION: Final = _matching(_IMPORT_PATH, "an import path, `package.module:function`")
NAME: Final = _matching(_NAME, "a name (letters, digits and `_`)")
BOOTSTRAP: Final = _matching(
    re.compile(r"[^,\s]+:\d+(,[^,\s]+:\d+)*"), "addresses, `host:port[,host:port]`"
)
URL: Final = _matching(re.compile(r"https?://\S+"), "an address, `http://host:port`")

SOURCE: Final = Record(
    (
        Field("bootstrap", BOOTSTRAP, "the brokers to begin with, `host:port,...`", required=True),
        Field("topics", ListOf(TOPIC, at_least=1), "the topics to read"),
        Field("pattern", PATTERN, "or a regular expression (Java's) of their names"),
        Field(
            "starting_offsets",
            Either(
                Choice(("earliest", "latest")),
                Record(
                    (
                        Field("timestamp", MOMENT, "from the first record at or after this moment"),
                        Field("offsets", MapOf(MapOf(OFFSET)), "by topic and partition"),
                    ),
                    exactly_one=("timestamp", "offsets"),
                ),
            ),
            "where the first run begins; later ones go on from the checkpoint",
            default="earliest",
        ),
        Field("max_records_per_batch", COUNT, "rate limit: records that a batch reads at most"),
        Field("options", MapOf(TEXT), "more options of Spark's Kafka source, `kafka.*` included"),
    ),
    exactly_one=("topics", "pattern"),
)

REGISTRY: Final = Record(
    (
        Field("directory", TEXT, "schemas as files, `<id>.avsc`"),
        Field("url", URL, "a schema registry's address"),
        Field("python", FUNCTION, "a function of ours: schema id to schema text"),
    ),
    exactly_one=("directory", "url", "python"),
)

DECODE: Final = Record(
    (
        Field(
            "format",
            Choice(("json", "avro", "protobuf", "csv", "raw")),
            "what the value is",
            required=True,
        ),
        Field("schema", TEXT, "json, csv: columns as in SQL, `id BIGINT NOT NULL, at TIMESTAMP`"),
        Field(
            "infer_from",
            COUNT,
            "json without a schema: records to infer it from; it is then kept in the checkpoint",
        ),
        Field("schema_file", TEXT, "avro: the file of the schema to read with"),
        Field("descriptor_file", TEXT, "protobuf: `protoc --descriptor_set_out --include_imports`"),
        Field("message", TEXT, "protobuf: the full name of the message"),
        Field(
            "framing",
            Choice(("none", "registry")),
            "registry: the value begins with a schema registry's five bytes",
            default="none",
        ),
        Field("registry", REGISTRY, "avro behind a registry's prefix: where schemas are found"),
        Field("key", Choice(("binary", "string")), "the column `kafka_key`", default="binary"),
        Field("tombstones", Choice(("keep", "drop")), "records without value", default="keep"),
        Field("options", MapOf(TEXT), "json, csv: options of Spark's reader, such as `sep`"),
    )
)

STEP: Final = Record(
    (
        Field("sql", TEXT, "a query over `stream`, the outcome of the step before"),
        Field("python", FUNCTION, "a function of ours, `DataFrame -> DataFrame`"),
        Field(
            "watermark",
            Record(
                (
                    Field("column", NAME, "a timestamp", required=True),
                    Field("delay", DURATION, "how late rows may come", required=True),
                )
            ),
            "how long state waits for late rows",
        ),
        Field(
            "table",
            Record(
                (
                    Field("name", NAME, "its name in SQL", required=True),
                    Field("path", TEXT, "where it is", required=True),
                    Field("format", TEXT, "what it is", default="parquet"),
                )
            ),
            "a table that later steps can join with",
        ),
        Field("as", NAME, "a second name for the outcome, for later SQL"),
    ),
    exactly_one=("sql", "python", "watermark", "table"),
)

PARQUET: Final = Record(
    (
        Field("path", TEXT, "directory of the table", required=True),
        Field("partition_by", ListOf(NAME), "columns to partition by", default=()),
        Field(
            "time",
            Record(
                (
                    Field("column", NAME, "a timestamp", required=True),
                    Field("by", Choice(("hour", "day", "month")), "how finely", default="day"),
                )
            ),
            "partition by time: columns `month`, `day`, `hour` are added",
        ),
        Field("target_file_size", SIZE, "files larger than this are split", default=128 << 20),
        Field(
            "compact_after",
            DURATION,
            "small files are merged so long after the end of their time partition",
        ),
    )
)

KAFKA: Final = Record(
    (
        Field("topic", TOPIC, "the topic to write to", required=True),
        Field("bootstrap", BOOTSTRAP, "its brokers, if not those of the source"),
        Field("key", TEXT, "SQL expression; `kafka_key` if there is one"),
        Field("value", TEXT, "SQL expression; JSON of all columns that do not begin with `kafka_`"),
        Field("id", TEXT, "SQL expression of the record id header"),
        Field("options", MapOf(TEXT), "more options of Spark's Kafka sink, `kafka.*` included"),
    )
)

SINK: Final = Record(
    (
        Field("parquet", PARQUET, "files, exactly once"),
        Field("kafka", KAFKA, "a topic, at least once, with a record id"),
        Field(
            "console",
            Record((Field("rows", COUNT, "rows shown of a batch", default=20),)),
            "the terminal, for trying",
        ),
    ),
    exactly_one=("parquet", "kafka", "console"),
)

PIPELINE: Final = Record(
    (
        Field("name", TEXT, "if not the file's"),
        Field("source", SOURCE, "which topics", required=True),
        Field("decode", DECODE, "how bytes become columns", required=True),
        Field("steps", ListOf(STEP), "what happens to the rows", default=()),
        Field("sinks", ListOf(SINK, at_least=1), "where they go", required=True),
        Field(
            "bad_records",
            Either(
                Choice(("fail", "drop")),
                Record(
                    (
                        Field("topic", TOPIC, "a dead-letter topic", required=True),
                        Field("bootstrap", BOOTSTRAP, "its brokers, if not those of the source"),
                    )
                ),
            ),
            "what becomes of records that do not decode",
            default="fail",
        ),
        Field(
            "trigger",
            Either(
                Choice(("available-now",)),
                Record(
                    (
                        Field("interval", DURATION, "a batch so often, until it is stopped"),
                        Field("real_time", DURATION, "record by record, checkpoints so often"),
                    ),
                    exactly_one=("interval", "real_time"),
                ),
            ),
            "when; available-now reads what is there and ends",
            default="available-now",
        ),
        Field(
            "output_mode",
            Choice(("append", "update", "complete")),
            "Spark's: when aggregates come out",
            default="append",
        ),
        Field("checkpoint", TEXT, "directory of the progress; one per pipeline", required=True),
        Field("metrics_port", PORT, "where Prometheus finds figures"),
    )
)
