"""Rows that do not wait for a batch."""

import json

import pytest

from barnabas_pipeline.pipeline_error import PipelineError
from tests.support.pipeline_lab import Lab

DOCUMENT = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: json, schema: "id BIGINT"}
steps:
  - sql: SELECT id * 2 AS twice, COLUMNS FROM stream
sinks:
  - kafka: {topic: TARGET}
output_mode: update
bad_records: drop
trigger: {real_time: 5s}
checkpoint: {dir}/checkpoint
"""
ORIGIN = "kafka_topic, kafka_partition, kafka_offset"


def document(topic: str, target: str, columns: str) -> str:
    text = DOCUMENT.replace("TOPIC", topic).replace("TARGET", target)
    return text.replace("COLUMNS", columns)


def test_rows_go_from_topic_to_topic_while_the_query_runs(lab: Lab) -> None:
    topic, target = lab.topic(1), lab.topic(1)
    pipeline = lab.pipeline(document(topic, target, ORIGIN))

    with pipeline.started(lab.spark) as session:
        for number in range(3):
            lab.write(topic, [{"id": number}])
            found = lab.read(target, number + 1)
            assert json.loads(found[-1].value()) == {"twice": 2 * number}
        assert not session.wait(0)

    headers = [dict(each.headers())["barnabas-record-id"] for each in found]
    assert headers == [f"{topic}/0/{number}".encode() for number in range(3)]


def test_rows_without_a_name_are_refused(lab: Lab) -> None:
    topic, target = lab.topic(1), lab.topic(1)

    with pytest.raises(PipelineError, match="which the steps dropped"):
        lab.pipeline(document(topic, target, "1 AS one")).run(lab.spark)
