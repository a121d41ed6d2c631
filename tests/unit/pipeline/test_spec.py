"""A document becomes a spec, or a list of problems that name field, line and fix."""

from pathlib import Path

import pytest

from barnabas_pipeline.spec.build import load_spec, parse_spec
from barnabas_pipeline.spec.model import (
    BadRecordsSpec,
    ParquetSink,
    PipelineSpec,
    SqlStep,
    StartingOffsets,
    TopicSink,
    TriggerSpec,
    WatermarkStep,
)
from barnabas_pipeline.spec.problem import InvalidPipeline
from tests.support.protobuf_order import DESCRIPTOR

WHOLE = """\
source:
  bootstrap: 127.0.0.1:9092
  topics: [orders]
decode:
  format: json
  schema: id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP
sinks:
  - parquet: {path: lake/orders}
checkpoint: state/orders
"""


def parsed(text: str, directory: Path = Path("/srv")) -> PipelineSpec:
    return parse_spec(text, "orders.yaml", directory, "orders")


def complaints(text: str, directory: Path = Path("/srv")) -> list[str]:
    with pytest.raises(InvalidPipeline) as caught:
        parsed(text, directory)
    return str(caught.value).splitlines()


def test_a_short_document_gets_every_default() -> None:
    spec = parsed(WHOLE)

    assert spec.name == "orders"
    assert spec.source.starting_offsets == StartingOffsets(word="earliest")
    assert spec.decode.key == "binary"
    assert spec.sinks == (ParquetSink("/srv/lake/orders", (), None, None, 128 << 20, None),)
    assert spec.bad_records == BadRecordsSpec("fail")
    assert spec.trigger == TriggerSpec("available-now")
    assert spec.output_mode == "append"
    assert spec.checkpoint == "/srv/state/orders"


def test_everything_that_can_be_said_is_understood() -> None:
    spec = parsed(
        WHOLE.replace("topics: [orders]", "pattern: orders-.*").replace(
            "sinks:\n  - parquet: {path: lake/orders}\n",
            """\
steps:
  - watermark: {column: at, delay: 10 minutes}
  - sql: SELECT country, sum(amount) AS total FROM stream GROUP BY country
    as: totals
sinks:
  - parquet:
      path: s3a://lake/orders
      partition_by: [country]
      time: {column: at, by: hour}
      target_file_size: 64MiB
      compact_after: 1h
  - kafka: {topic: totals, key: country}
  - console: {rows: 5}
bad_records: {topic: dead-orders}
trigger: {interval: 10s}
output_mode: update
metrics_port: 9400
""",
        )
    )

    assert spec.source.pattern == "orders-.*"
    assert spec.steps[0] == WatermarkStep("at", 600_000, None)
    assert isinstance(spec.steps[1], SqlStep)
    assert spec.steps[1].alias == "totals"
    assert spec.sinks[0] == ParquetSink(
        "s3a://lake/orders", ("country",), "at", "hour", 64 << 20, 3_600_000
    )
    assert isinstance(spec.sinks[1], TopicSink)
    assert spec.sinks[1].bootstrap == "127.0.0.1:9092"
    assert spec.bad_records == BadRecordsSpec("topic", "dead-orders", "127.0.0.1:9092")
    assert spec.trigger == TriggerSpec("interval", 10_000)


@pytest.mark.parametrize(
    ("start", "meant"),
    [
        ("latest", StartingOffsets(word="latest")),
        ("{timestamp: 2026-11-17T08:00:00Z}", StartingOffsets(timestamp_ms=1_794_902_400_000)),
        (
            "{offsets: {orders: {0: 5, 1: -2}}}",
            StartingOffsets(offsets={"orders": {"0": 5, "1": -2}}),
        ),
    ],
)
def test_a_start_is_a_word_a_moment_or_offsets(start: str, meant: StartingOffsets) -> None:
    text = WHOLE.replace("[orders]", f"[orders]\n  starting_offsets: {start}")

    assert parsed(text).source.starting_offsets == meant


def test_the_spec_of_a_resource_has_the_same_shape() -> None:
    inner = "".join(f"  {line}\n" for line in WHOLE.splitlines())
    resource = "kind: KafkaPipeline\nmetadata: {name: nightly}\nspec:\n" + inner

    spec = parsed(resource)

    assert spec.name == "nightly"
    assert spec.source == parsed(WHOLE).source


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("topics:", "topcs:", "orders.yaml:3: source.topcs: no such field; did you mean `topics`?"),
        ("json", "jsn", "orders.yaml:5: decode.format: `jsn` is not known; did you mean `json`?"),
        (
            "[orders]", "orders",
            ("orders.yaml:3: source.topics: wants a list, `- ...` on lines of its own, and has "
            "`orders`"),
        ),
        (
            "amount DOUBLE", "amount DUBLE",
            "orders.yaml:6: decode.schema: `duble` is no type that Spark knows",
        ),
        ("checkpoint: state/orders", "", "orders.yaml:1: `checkpoint` is missing"),
        (
            "{path: lake/orders}", "{path: lake/orders}\n    console: {}",
            "orders.yaml:8: sinks[0]: only one of `parquet`, `kafka`, `console` may be there",
        ),
        (
            "127.0.0.1:9092", "localhost",
            "orders.yaml:2: source.bootstrap: `localhost` is not addresses",
        ),
        (
            "checkpoint:", "trigger: {interval: 10}\ncheckpoint:",
            "orders.yaml:9: trigger.interval: `10` is not a length of time above 0 with its unit",
        ),
        (
            "checkpoint:", "trigger: {real_time: 5s}\ncheckpoint:",
            "orders.yaml:9: trigger.real_time: writes to one `kafka` sink and nothing else",
        ),
        (
            "checkpoint:", "checkpoint: again\ncheckpoint:",
            "orders.yaml:10: checkpoint: is there twice: remove one",
        ),
        (
            "  schema:", "  infer_from: 100\n  schema:",
            "orders.yaml:4: decode: json wants either `schema` or `infer_from`",
        ),
        (
            "id BIGINT", "kafka_id BIGINT",
            "orders.yaml:6: decode.schema: `kafka_id` is the name of a column of ours",
        ),
        (
            "{path: lake/orders}", "{path: lake/orders, compact_after: 1h}",
            "orders.yaml:8: sinks[0].parquet.compact_after: wants `time`",
        ),
        (
            "parquet: {path: lake/orders}", "kafka: {topic: orders}",
            "orders.yaml:8: sinks[0].kafka.topic: is read by this pipeline",
        ),
        (
            "  format: json", "  format: json\n  schema_file: x.avsc",
            "orders.yaml:6: decode.schema_file: means nothing for json: remove it (avro)",
        ),
        ("{path: lake/orders}", "{path: [}", "orders.yaml:8: no YAML: "),
        ("lake/orders", "lake/\x07", "orders.yaml:8: no YAML: the character '\\x07' may not be"),
        (
            "topics: [orders]", "pattern: ord.*\nbad_records: {topic: orders-dead}",
            ("orders.yaml:4: bad_records.topic: is read by this pipeline (`source`): bad records "
            "would go round"),
        ),
        (
            "topics: [orders]\n",
            ("topics: [orders]\nbad_records: {topic: orders, bootstrap: '127.0.0.1:9092'}\n"),
            "orders.yaml:4: bad_records.topic: is read by this pipeline",
        ),
        (
            "- parquet: {path: lake/orders}",
            "- parquet: {path: lake/orders}\n  - parquet: {path: ./lake/orders/}",
            "orders.yaml:9: sinks[1].parquet.path: two sinks cannot share a table",
        ),
        (
            "[orders]", "[orders]\n  starting_offsets: {offsets: {oders: {0: 5}}}",
            ("orders.yaml:4: source.starting_offsets.offsets.oders: is not one of `topics`: remove "
            "it"),
        ),
        (
            "[orders]", "[orders]\n  starting_offsets: {offsets: {orders: {first: 5}}}",
            "orders.yaml:4: source.starting_offsets.offsets.orders.first: a partition is a number",
        ),
        (
            "amount DOUBLE", "ID DOUBLE",
            "orders.yaml:6: decode.schema: `id` is there twice, capitals or not: rename one",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_field_its_line_and_the_fix(
    old: str, new: str, complaint: str
) -> None:
    assert old in WHOLE

    said = complaints(WHOLE.replace(old, new))

    assert any(line.startswith(complaint) for line in said), said


def test_all_mistakes_are_told_at_once() -> None:
    said = complaints(WHOLE.replace("json", "jsn").replace("topics", "topcs"))

    assert [line.split(":")[1] for line in said] == ["1", "3", "5"]


def test_an_empty_document_is_told_so() -> None:
    assert complaints("# nothing\n") == ["orders.yaml:1: empty: a pipeline has at least a source"]


def test_a_schema_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    text = WHOLE.replace("json", "avro").replace(
        "schema: id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP", "schema_file: orders.avsc"
    )

    assert complaints(text, tmp_path) == [
        f"orders.yaml:6: decode.schema_file: no such file: {tmp_path}/orders.avsc"
    ]

    (tmp_path / "orders.avsc").write_text("{")
    assert "is no JSON" in complaints(text, tmp_path)[0]

    (tmp_path / "orders.avsc").write_text(AVRO)
    assert parsed(text, tmp_path).decode.schema_file == f"{tmp_path}/orders.avsc"


AVRO = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("{}", "is no Avro schema: KeyError: 'type'"),
        ('"string"', "the schema of a value has to be a record"),
        (AVRO.replace("long", "lang"), "is no Avro schema: UnknownType: lang"),
        (AVRO.replace('"long"', '["int", "string"]'), "a union of several types has no column"),
        (AVRO.replace('"id"', '"kafka_key"'), "`kafka_key` is the name of a column of ours"),
    ],
)
def test_a_file_that_is_no_avro_schema_is_told_before_spark_starts(
    tmp_path: Path, schema: str, complaint: str
) -> None:
    (tmp_path / "orders.avsc").write_text(schema)
    text = WHOLE.replace("json", "avro").replace(
        "schema: id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP", "schema_file: orders.avsc"
    )

    (said,) = complaints(text, tmp_path)

    assert said.startswith("orders.yaml:6: decode.schema_file: ")
    assert complaint in said


def test_a_descriptor_without_the_message_is_told_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "orders.desc").write_bytes(DESCRIPTOR)
    text = WHOLE.replace("json", "protobuf").replace(
        "schema: id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP",
        "descriptor_file: orders.desc\n  message: orders.Ordr",
    )

    (said,) = complaints(text, tmp_path)
    assert said.startswith("orders.yaml:7: decode.message: no message orders.Ordr; there is ")

    (tmp_path / "orders.desc").write_bytes(b"\xff")
    (said,) = complaints(text, tmp_path)
    assert said.startswith("orders.yaml:6: decode.descriptor_file: ")
    assert "is no descriptor set" in said


def test_a_dead_letter_topic_of_other_brokers_may_have_the_same_name() -> None:
    text = WHOLE + "bad_records: {topic: orders, bootstrap: 'elsewhere:9092'}\n"

    assert parsed(text).bad_records.topic == "orders"


def test_a_file_in_another_encoding_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_bytes(WHOLE.replace("lake", "läke").encode("latin-1"))

    with pytest.raises(InvalidPipeline, match=r"orders.yaml:8: no UTF-8 from byte \d+ on: save"):
        load_spec(file)


def test_avro_behind_a_prefix_wants_to_know_where_schemas_are(tmp_path: Path) -> None:
    (tmp_path / "orders.avsc").write_text(AVRO)
    text = WHOLE.replace("json", "avro\n  framing: registry").replace(
        "schema: id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP", "schema_file: orders.avsc"
    )

    assert "avro wants `registry`" in complaints(text, tmp_path)[0]
