"""Topics to Parquet and to topics: what comes out is what went in, once."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from barnabas_pipeline.pipeline_error import PipelineError
from tests.support.pipeline_lab import Lab

ORDERS = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode:
  format: json
  schema: id BIGINT NOT NULL, country STRING, amount DOUBLE, at TIMESTAMP
  key: string
sinks:
  - parquet:
      path: {dir}/table
      partition_by: [country]
      time: {column: at, by: hour}
checkpoint: {dir}/checkpoint
"""


def orders(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "country": ("DE", "FR")[number % 2],
            "amount": number / 2,
            "at": f"2026-11-17T{8 + number % 3:02}:00:00Z",
        }
        for number in range(first, first + count)
    ]


def ids(lab: Lab, table: str = "table") -> list[int]:
    return sorted(row.id for row in lab.table(table).select("id").collect())


def test_records_become_rows_in_the_partitions_of_their_columns_and_time(lab: Lab) -> None:
    topic = lab.topic()
    lab.write(topic, orders(0, 300), key=b"k", headers=[("h", b"1")])

    totals = lab.pipeline(ORDERS.replace("TOPIC", topic)).run(lab.spark)

    assert (totals.input_rows, totals.output_rows, totals.bad_rows) == (300, 300, 0)
    assert ids(lab) == list(range(300))
    row = lab.table().where("id = 7").first()
    assert row is not None
    assert (row.country, row.amount, row.kafka_key, row.kafka_topic) == ("FR", 3.5, "k", topic)
    assert [(header.key, bytes(header.value)) for header in row.kafka_headers] == [("h", b"1")]
    found = {str(file.parent) for file in (lab.directory / "table").glob("country=*/*/*/*.parquet")}
    assert found == {
        f"{lab.directory}/table/country={country}/day=2026-11-17/hour={hour:02}"
        for country in ("DE", "FR")
        for hour in (8, 9, 10)
    }


def test_a_second_run_goes_on_where_the_first_ended(lab: Lab) -> None:
    topic = lab.topic()
    pipeline = lab.pipeline(ORDERS.replace("TOPIC", topic))
    lab.write(topic, orders(0, 100))
    pipeline.run(lab.spark)
    lab.write(topic, orders(100, 50))

    totals = pipeline.run(lab.spark)

    assert totals.input_rows == 50
    assert ids(lab) == list(range(150))


def test_a_batch_holds_no_more_records_than_it_may(lab: Lab) -> None:
    topic = lab.topic()
    lab.write(topic, orders(0, 100))
    text = ORDERS.replace("[TOPIC]", f"[{topic}]\n  max_records_per_batch: 30")

    totals = lab.pipeline(text).run(lab.spark)

    assert totals.batches >= 4
    assert ids(lab) == list(range(100))


TO_TOPIC = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: json, schema: "id BIGINT, country STRING"}
steps:
  - sql: SELECT * FROM stream WHERE id < 50
sinks:
  - kafka: {topic: TARGET, key: country}
checkpoint: {dir}/checkpoint
"""


def test_rows_reach_a_topic_with_an_id_that_says_which_record_they_were(lab: Lab) -> None:
    topic, target = lab.topic(), lab.topic()
    lab.write(topic, orders(0, 100))
    text = TO_TOPIC.replace("TOPIC", topic).replace("TARGET", target)

    totals = lab.pipeline(text).run(lab.spark)

    assert totals.output_rows == 50
    found = lab.read(target, 50)
    assert sorted(json.loads(each.value())["id"] for each in found) == list(range(50))
    assert all(each.key().decode() == json.loads(each.value())["country"] for each in found)
    names = {dict(each.headers())["barnabas-record-id"].decode() for each in found}
    assert len(names) == 50
    assert all(name.startswith(f"{topic}/") for name in names)


AGGREGATE = TO_TOPIC.replace(
    "SELECT * FROM stream WHERE id < 50",
    "SELECT country, count(*) AS n FROM stream GROUP BY country",
).replace("checkpoint:", "output_mode: update\ncheckpoint:")


def test_rows_that_come_from_no_single_record_have_ids_that_a_repeated_batch_repeats(
    lab: Lab,
) -> None:
    topic, target = lab.topic(), lab.topic(1)
    lab.write(topic, orders(0, 100))
    pipeline = lab.pipeline(AGGREGATE.replace("TOPIC", topic).replace("TARGET", target))
    pipeline.run(lab.spark)
    # What a crash leaves between the write and Spark's own commit.
    (lab.directory / "checkpoint/commits/0").unlink()
    (lab.directory / "checkpoint/commits/.0.crc").unlink(missing_ok=True)

    pipeline.run(lab.spark)

    names = Counter(
        dict(each.headers())["barnabas-record-id"].decode() for each in lab.read(target, 4)
    )
    assert sorted(names.values()) == [2, 2]


def test_a_batch_that_is_given_again_is_not_in_the_table_twice(lab: Lab) -> None:
    topic = lab.topic()
    lab.write(topic, orders(0, 100))
    pipeline = lab.pipeline(ORDERS.replace("TOPIC", topic))
    pipeline.run(lab.spark)
    (lab.directory / "checkpoint/commits/0").unlink()
    (lab.directory / "checkpoint/commits/.0.crc").unlink(missing_ok=True)

    totals = pipeline.run(lab.spark)

    assert totals.input_rows == 0 or totals.output_rows == 0
    assert ids(lab) == list(range(100))


def forget_last_commit(lab: Lab) -> None:
    """What a kill leaves between the table's commit and Spark's own."""
    commits = lab.directory / "checkpoint/commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdecimal())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


COUNTED = ORDERS.replace(
    "sinks:",
    """\
steps:
  - watermark: {column: at, delay: 1 minute}
  - sql: SELECT window.start AS at, country, count(*) AS n FROM stream
      GROUP BY window(at, '1 hour'), country
sinks:""",
)


def test_a_query_with_state_goes_on_after_a_kill_between_the_two_commits(lab: Lab) -> None:
    topic = lab.topic(1)
    pipeline = lab.pipeline(COUNTED.replace("TOPIC", topic))
    lab.write(topic, orders(0, 60))
    pipeline.run(lab.spark)
    forget_last_commit(lab)
    lab.write(topic, [{"id": 1, "country": "DE", "at": "2026-11-18T00:00:00Z"}])

    pipeline.run(lab.spark)

    found = sorted((row.country, row.at.hour, row.n) for row in lab.table().collect())
    assert found == [(country, hour, 10) for country in ("DE", "FR") for hour in (8, 9, 10)]


def test_batches_without_rows_add_no_files(lab: Lab) -> None:
    topic = lab.topic(1)
    text = ORDERS.replace("sinks:", "steps:\n  - sql: SELECT id FROM stream WHERE id < 50\nsinks:")
    text = text.replace("partition_by: [country]", "").replace("time: {column: at, by: hour}", "")
    pipeline = lab.pipeline(text.replace("TOPIC", topic))
    for first in (0, 50, 100):
        lab.write(topic, orders(first, 50))
        pipeline.run(lab.spark)

    assert ids(lab) == list(range(50))
    assert {file.name[-24:-14] for file in (lab.directory / "table").glob("*.parquet")} == {
        "0000000000"
    }


TWO_SINKS = ORDERS.replace(
    "checkpoint:", "  - kafka: {topic: TARGET}\n  - parquet: {path: '{dir}/plain'}\ncheckpoint:"
)


def test_every_sink_gets_every_row(lab: Lab) -> None:
    topic, target = lab.topic(), lab.topic()
    lab.write(topic, orders(0, 60))

    lab.pipeline(TWO_SINKS.replace("TOPIC", topic).replace("TARGET", target)).run(lab.spark)

    assert ids(lab) == ids(lab, "plain") == list(range(60))
    assert len(lab.read(target, 60)) == 60


LATE = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: json, schema: "id BIGINT, at TIMESTAMP"}
steps:
  - watermark: {column: at, delay: 10 minutes}
  - sql: SELECT window.start, count(*) AS n FROM stream GROUP BY window(at, '10 minutes')
sinks:
  - parquet: {path: "{dir}/table"}
checkpoint: {dir}/checkpoint
"""


def moments(*times: str) -> list[dict[str, Any]]:
    return [{"id": 0, "at": f"2026-11-17T{time}:00Z"} for time in times]


def test_rows_that_come_after_the_watermark_are_not_counted(lab: Lab) -> None:
    topic = lab.topic(1)
    pipeline = lab.pipeline(LATE.replace("TOPIC", topic))

    lab.write(topic, moments("08:00", "08:05", "08:11"))
    pipeline.run(lab.spark)
    lab.write(topic, moments("08:08", "08:45"))  # late, but not too late; then time moves on
    pipeline.run(lab.spark)
    lab.write(topic, moments("08:09", "09:30"))  # its window is out already
    pipeline.run(lab.spark)

    found = {row.start.strftime("%H:%M"): row.n for row in lab.table().collect()}
    assert found == {"08:00": 3, "08:10": 1, "08:40": 1}


RAW_FROM = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
  starting_offsets: START
decode: {format: raw}
sinks:
  - parquet: {path: "{dir}/table"}
checkpoint: {dir}/checkpoint
"""


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", {b"0", b"1", b"2", b"3"}),
        ("{offsets: {TOPIC: {0: 2}}}", {b"2", b"3"}),
        ("{timestamp: 2001-01-01}", {b"0", b"1", b"2", b"3"}),
    ],
)
def test_the_first_run_begins_where_the_source_says(
    lab: Lab, start: str, expected: set[bytes]
) -> None:
    topic = lab.topic(1)
    lab.write(topic, ["0", "1", "2", "3"])

    lab.pipeline(RAW_FROM.replace("START", start).replace("TOPIC", topic)).run(lab.spark)

    assert {bytes(row.value) for row in lab.table().collect()} == expected


def test_topics_may_be_named_by_a_pattern(lab: Lab) -> None:
    first, second = lab.topic(1), lab.topic(1)
    lab.write(first, ["a"])
    lab.write(second, ["b"])
    text = RAW_FROM.replace("topics: [TOPIC]", f"pattern: '({first}|{second})'")

    lab.pipeline(text.replace("START", "earliest")).run(lab.spark)

    found = {(row.kafka_topic, bytes(row.value)) for row in lab.table().collect()}
    assert found == {(first, b"a"), (second, b"b")}


def test_a_topic_that_is_not_there_is_named(lab: Lab) -> None:
    pipeline = lab.pipeline(RAW_FROM.replace("START", "earliest").replace("TOPIC", "nowhere"))

    with pytest.raises(PipelineError, match=f"no topic nowhere on {lab.bootstrap}"):
        pipeline.run(lab.spark)


def test_an_aggregate_without_a_watermark_is_refused_with_the_reason(lab: Lab) -> None:
    topic = lab.topic(1)
    text = TO_TOPIC.replace("SELECT * FROM stream WHERE id < 50", COUNT_ALL)

    with pytest.raises(PipelineError, match=r"not supported .* without watermark"):
        lab.pipeline(text.replace("TOPIC", topic)).run(lab.spark)


COUNT_ALL = "SELECT country, count(*) FROM stream GROUP BY country"
JOIN = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: json, schema: "id BIGINT, country STRING"}
steps:
  - table: {name: countries, path: "{dir}/countries"}
  - sql: SELECT id, full_name FROM stream JOIN countries USING (country)
  - python: shouting:shout
sinks:
  - parquet: {path: "{dir}/table"}
checkpoint: {dir}/checkpoint
"""
SHOUTING = """\
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn


@fn.udf("string")
def loud(text):
    return text.upper() + "!"


def shout(rows: DataFrame) -> DataFrame:
    return rows.withColumn("full_name", loud("full_name"))
"""


def test_steps_join_with_a_table_and_call_functions_beside_the_document(lab: Lab) -> None:
    topic = lab.topic()
    lab.write(topic, orders(0, 4))
    names = lab.spark.createDataFrame(
        [("DE", "Germany"), ("FR", "France")], "country STRING, full_name STRING"
    )
    names.write.parquet(str(lab.directory / "countries"))
    Path(lab.directory / "shouting.py").write_text(SHOUTING)

    lab.pipeline(JOIN.replace("TOPIC", topic)).run(lab.spark)

    found = {row.id: row.full_name for row in lab.table().collect()}
    assert found == {0: "GERMANY!", 1: "FRANCE!", 2: "GERMANY!", 3: "FRANCE!"}


def test_sql_that_makes_no_sense_names_the_step(lab: Lab) -> None:
    topic = lab.topic()
    text = JOIN.replace("TOPIC", topic).replace("full_name FROM", "no_such_column FROM")
    lab.spark.createDataFrame([("DE", "x")], "country STRING, full_name STRING").write.parquet(
        str(lab.directory / "countries")
    )

    with pytest.raises(PipelineError, match=r"steps\[1\].*no_such_column"):
        lab.pipeline(text).run(lab.spark)
