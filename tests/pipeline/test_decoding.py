"""Values of every format become columns; those that do not become bad records, with a reason."""

import io
import json
import shutil
import struct
from typing import Any

import fastavro
import pytest

from barnabas_pipeline.pipeline_error import PipelineError
from tests.support.pipeline_lab import Lab
from tests.support.protobuf_order import DESCRIPTOR, order_bytes

PIPELINE = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: DECODE
sinks:
  - parquet: {path: "{dir}/table"}
bad_records: BAD
checkpoint: {dir}/checkpoint
"""
JSON = '{format: json, schema: "id BIGINT NOT NULL, amount DOUBLE"}'


def document(topic: str, decode: str, bad: str = "fail") -> str:
    return PIPELINE.replace("DECODE", decode).replace("BAD", bad).replace("TOPIC", topic)


def rows(lab: Lab, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lab.table().select(*names).collect())


BAD_VALUES = {
    b"nonsense": "the value is not JSON",
    b'{"id": "x"}': "field id is no bigint: x",
    b'{"id": 1, "amount": "much"}': "field amount is no double: much",
    b'{"amount": 1.5}': "field id is missing",
}


def test_bad_records_go_to_the_dead_letter_topic_as_they_were_with_the_reason(lab: Lab) -> None:
    topic, dead = lab.topic(1), lab.topic(1)
    lab.write(topic, ['{"id": 1}'])
    for value in BAD_VALUES:
        lab.write(topic, [value], key=b"key", headers=[("mine", b"kept")])
    lab.write(topic, ['{"id": 2, "amount": 3}'])

    totals = lab.pipeline(document(topic, JSON, f"{{topic: {dead}}}")).run(lab.spark)

    assert rows(lab, "id", "amount") == [(1, None), (2, 3.0)]
    assert totals.bad_rows == 4
    letters = lab.read(dead, 4)
    for offset, (value, reason) in enumerate(BAD_VALUES.items(), 1):
        letter = next(each for each in letters if each.value() == value)
        assert letter.key() == b"key"
        assert dict(letter.headers()) == {
            "mine": b"kept",
            "barnabas-reason": reason.encode(),
            "barnabas-topic": topic.encode(),
            "barnabas-partition": b"0",
            "barnabas-offset": str(offset).encode(),
            "barnabas-record-id": f"{topic}/0/{offset}".encode(),
        }


def test_values_without_a_row_in_them_are_bad_too(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, [b"", b" ", b"null", b"[]", b'[{"id": 1}, {"id": 2}]', b"7", b'{"id": 3}'])
    nullable = '{format: json, schema: "id BIGINT"}'

    totals = lab.pipeline(document(topic, nullable, "drop")).run(lab.spark)

    assert rows(lab, "id") == [(3,)]
    assert totals.bad_rows == 6


def test_queries_that_begin_at_the_latest_begin_at_the_same_record(lab: Lab) -> None:
    topic, dead = lab.topic(2), lab.topic(1)
    text = document(topic, JSON, f"{{topic: {dead}}}")
    text = text.replace(f"[{topic}]", f"[{topic}]\n  starting_offsets: latest")
    lab.write(topic, ["bad before"], partition=0)
    pipeline = lab.pipeline(text)
    pipeline.run(lab.spark)
    # As if the first run had been killed before its second query began.
    shutil.rmtree(lab.directory / "checkpoint/barnabas/bad")
    lab.write(topic, ["bad after", '{"id": 1}'], partition=0)

    totals = pipeline.run(lab.spark)

    assert (totals.input_rows, totals.bad_rows) == (2, 1)
    assert [each.value() for each in lab.read(dead, 1)] == [b"bad after"]
    assert lab.end_offsets(dead) == 1


def test_a_second_run_writes_no_dead_letter_again(lab: Lab) -> None:
    topic, dead = lab.topic(1), lab.topic(1)
    pipeline = lab.pipeline(document(topic, JSON, f"{{topic: {dead}}}"))
    lab.write(topic, ["bad"])
    pipeline.run(lab.spark)
    lab.write(topic, ["worse"])
    pipeline.run(lab.spark)

    assert [each.value() for each in lab.read(dead, 2)] == [b"bad", b"worse"]
    assert lab.end_offsets(dead) == 2


def test_bad_records_may_be_dropped_and_are_counted(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, [*BAD_VALUES, '{"id": 1}'])

    totals = lab.pipeline(document(topic, JSON, "drop")).run(lab.spark)

    assert rows(lab, "id") == [(1,)]
    assert (totals.input_rows, totals.output_rows, totals.bad_rows) == (5, 1, 4)


def test_a_bad_record_fails_the_pipeline_unless_it_is_told_otherwise(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ['{"id": 1}', "nonsense"])

    with pytest.raises(PipelineError) as caught:
        lab.pipeline(document(topic, JSON)).run(lab.spark)

    assert f"bad record in {topic}-0 at offset 1: the value is not JSON" in str(caught.value)
    assert "bad_records: drop" in str(caught.value)
    assert not list((lab.directory / "table").glob("*.parquet"))


def test_tombstones_are_rows_without_columns_or_dropped(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, [None, '{"id": 1}'], key=b"k")

    lab.pipeline(document(topic, JSON)).run(lab.spark)
    assert rows(lab, "kafka_offset", "id") == [(0, None), (1, 1)]

    dropping = document(topic, JSON.replace("json,", "json, tombstones: drop,"))
    lab.pipeline(dropping.replace("/table", "/other").replace("/checkpoint", "/c2")).run(lab.spark)
    assert [row.id for row in lab.table("other").collect()] == [1]


def test_inferred_columns_are_kept_when_later_records_have_others(lab: Lab) -> None:
    topic = lab.topic(1)
    pipeline = lab.pipeline(document(topic, "{format: json, infer_from: 10}", "drop"))
    lab.write(topic, ['{"id": 1, "name": "a"}'])
    pipeline.run(lab.spark)
    lab.write(topic, ['{"id": 2, "name": "b", "more": true}', '{"id": "three"}'])

    totals = pipeline.run(lab.spark)

    assert rows(lab, "id", "name") == [(1, "a"), (2, "b")]
    assert "more" not in lab.table().columns
    assert totals.bad_rows == 1


def test_a_column_can_be_added_between_two_runs(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ['{"id": 1, "amount": 1, "note": "old"}'])
    lab.pipeline(document(topic, JSON)).run(lab.spark)
    lab.write(topic, ['{"id": 2, "amount": 2, "note": "new"}'])

    lab.pipeline(document(topic, JSON.replace("DOUBLE", "DOUBLE, note STRING"))).run(lab.spark)

    table = lab.spark.read.option("mergeSchema", "true").parquet(str(lab.directory / "table"))
    assert sorted((row.id, row.note) for row in table.collect()) == [(1, None), (2, "new")]


def test_csv(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ["1;DE;2.5", "2;FR", "x;DE;1", b""])
    decode = (
        '{format: csv, schema: "id BIGINT, country STRING, amount DOUBLE", options: {sep: ";"}}'
    )

    totals = lab.pipeline(document(topic, decode, "drop")).run(lab.spark)

    assert rows(lab, "id", "country", "amount") == [(1, "DE", 2.5)]
    assert totals.bad_rows == 3


ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "country", "type": "string"}],
}
ORDER_2: dict[str, Any] = {
    **ORDER,
    "fields": [*ORDER["fields"], {"name": "amount", "type": "double", "default": 0.0}],
}


def avro(schema: dict[str, Any], record: dict[str, Any], schema_id: int | None = None) -> bytes:
    stream = io.BytesIO()
    if schema_id is not None:
        stream.write(struct.pack(">bI", 0, schema_id))
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


def test_avro_with_a_schema_file(lab: Lab) -> None:
    topic = lab.topic(1)
    (lab.directory / "order.avsc").write_text(json.dumps(ORDER))
    lab.write(topic, [avro(ORDER, {"id": 1, "country": "DE"}), b"\x02", None])

    totals = lab.pipeline(document(topic, "{format: avro, schema_file: order.avsc}", "drop")).run(
        lab.spark
    )

    assert rows(lab, "kafka_offset", "id", "country") == [(0, 1, "DE"), (2, None, None)]
    assert totals.bad_rows == 1


def test_avro_behind_a_registrys_prefix_while_writers_change_their_schema(lab: Lab) -> None:
    topic, dead = lab.topic(1), lab.topic(1)
    (lab.directory / "order.avsc").write_text(json.dumps(ORDER_2))
    (lab.directory / "schemas").mkdir()
    (lab.directory / "schemas/1.avsc").write_text(json.dumps(ORDER))
    (lab.directory / "schemas/2.avsc").write_text(json.dumps(ORDER_2))
    decode = (
        "{format: avro, schema_file: order.avsc, framing: registry, registry: {directory: schemas}}"
    )
    pipeline = lab.pipeline(document(topic, decode, f"{{topic: {dead}}}"))
    lab.write(topic, [avro(ORDER, {"id": 1, "country": "DE"}, 1)])
    pipeline.run(lab.spark)
    lab.write(topic, [avro(ORDER_2, {"id": 2, "country": "FR", "amount": 1.5}, 2)])
    lab.write(topic, [avro(ORDER, {"id": 3, "country": "FR"}, 77)])

    pipeline.run(lab.spark)

    assert rows(lab, "id", "country", "amount") == [(1, "DE", 0.0), (2, "FR", 1.5)]
    letter = lab.read(dead, 1)[0]
    assert b"no schema 77" in dict(letter.headers())["barnabas-reason"]


def test_schemas_may_be_found_by_a_function_beside_the_document(lab: Lab) -> None:
    topic = lab.topic(1)
    (lab.directory / "order.avsc").write_text(json.dumps(ORDER))
    name = (
        f"lookup_{lab.directory.parent.name.replace('-', '_')}_{lab.bootstrap.rpartition(':')[2]}"
    )
    source = f"import json\n\ndef find(schema_id):\n    return json.dumps({ORDER!r})\n"
    (lab.directory / f"{name}.py").write_text(source)
    lab.write(topic, [avro(ORDER, {"id": 1, "country": "DE"}, 9)])

    decode = "{format: avro, schema_file: order.avsc, framing: registry, registry: {python: FIND}}"
    lab.pipeline(document(topic, decode.replace("FIND", f"'{name}:find'"))).run(lab.spark)

    assert rows(lab, "id", "country") == [(1, "DE")]


def test_protobuf_with_a_descriptor(lab: Lab) -> None:
    topic = lab.topic(1)
    (lab.directory / "orders.desc").write_bytes(DESCRIPTOR)
    lab.write(topic, [order_bytes(), b"\x0a\xff"])

    decode = "{format: protobuf, descriptor_file: orders.desc, message: orders.Order}"
    totals = lab.pipeline(document(topic, decode, "drop")).run(lab.spark)

    row = lab.table().first()
    assert row is not None
    assert (row.id, row.kind, row.lines, row.tags) == (7, "REFUND", [0.5, 1.5], {"a": 1})
    assert row.at.isoformat() == "2026-11-17T08:00:00"
    assert totals.bad_rows == 1
