"""What changes under a query that runs: partitions are added, the topic is another, brokers die."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from barnabas_pipeline.pipeline import Session
from barnabas_pipeline.pipeline_error import TopicRecreated
from tests.support.kafka_node import KafkaNode, free_ports
from tests.support.pipeline_lab import Lab
from tests.support.process import running

if TYPE_CHECKING:
    from tests.support.external import JavaRuntime

RAW = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
  options: {kafka.metadata.max.age.ms: "500"}
decode: {format: raw}
sinks:
  - parquet: {path: "{dir}/table"}
trigger: {interval: 200ms}
checkpoint: {dir}/checkpoint
"""


def values(lab: Lab) -> list[bytes]:
    return sorted(bytes(row.value) for row in lab.table().collect())


def wait_for_rows(session: Session, count: int) -> None:
    """Until so many are written; the query's own failure is raised."""
    waited = 0
    while session.totals.output_rows < count:
        assert not session.wait(0.2), "ended early"
        waited += 1
        assert waited < 600, f"{session.totals.output_rows} rows after two minutes"


def test_records_of_partitions_that_are_added_are_read(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ["before"])

    with lab.pipeline(RAW.replace("TOPIC", topic)).started(lab.spark) as session:
        wait_for_rows(session, 1)
        lab.add_partitions(topic, 3)
        for partition in range(3):
            lab.write(topic, [f"after {partition}"], partition=partition)
        wait_for_rows(session, 4)

    assert values(lab) == [b"after 0", b"after 1", b"after 2", b"before"]


@pytest.mark.parametrize("count", [2, 30], ids=["fewer-records", "more-records"])
def test_a_topic_that_is_recreated_under_the_query_ends_it_with_a_clear_word(
    lab: Lab, count: int
) -> None:
    topic = lab.topic(1)
    lab.write(topic, [f"old {number}" for number in range(10)])

    with lab.pipeline(RAW.replace("TOPIC", topic)).started(lab.spark) as session:
        wait_for_rows(session, 10)
        lab.delete_topic(topic)
        lab.topic(1, topic)
        lab.write(topic, [f"new {number}" for number in range(count)])

        with pytest.raises(TopicRecreated, match=f"{topic} was deleted and created again"):
            session.wait(120)

    assert values(lab) == sorted(f"old {number}".encode() for number in range(10))


def test_a_topic_that_was_recreated_between_runs_is_not_read_from_old_offsets(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ["1", "2"])
    once = RAW.replace("TOPIC", topic).replace("{interval: 200ms}", "available-now")
    lab.pipeline(once).run(lab.spark)
    lab.delete_topic(topic)
    lab.topic(1, topic)
    lab.write(topic, ["3", "4", "5"])

    with pytest.raises(TopicRecreated, match="new `checkpoint`"):
        lab.pipeline(once).run(lab.spark)

    lab.pipeline(once.replace("/checkpoint", "/another")).run(lab.spark)
    assert values(lab) == [b"1", b"2", b"3", b"4", b"5"]


def barnabas_command(directory: Path) -> tuple[list[str], str]:
    port = free_ports(1)[0]
    program = str(Path(sys.executable).parent / "barnabas")
    data = str(directory / "data")
    return [program, "up", "--port", str(port), "--data", data], f"127.0.0.1:{port}"


@pytest.mark.parametrize("side", ["barnabas", "kafka"])
def test_a_broker_that_is_killed_and_comes_back_costs_no_row(
    side: str, request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession
) -> None:
    if side == "kafka":
        java: JavaRuntime = request.getfixturevalue("java")
        node = KafkaNode(java, tmp_path)
        command, bootstrap = java.command("kafka.Kafka", str(node.properties)), node.bootstrap
    else:
        command, bootstrap = barnabas_command(tmp_path)
    log = tmp_path / "broker.out"
    with running(command, log) as first, Lab(bootstrap, tmp_path, spark).open() as lab:
        topic = lab.topic(2)
        lab.topics.clear()  # goes with the directory
        lab.write(topic, [f"a{number}" for number in range(100)])
        with lab.pipeline(RAW.replace("TOPIC", topic)).started(spark) as session:
            wait_for_rows(session, 100)
            first.kill()
            with running(command, log):
                lab.write(topic, [f"b{number}" for number in range(100)])
                wait_for_rows(session, 200)
                session.stop()  # while somebody answers: Kafka's client waits a minute otherwise
        expected = [f"{letter}{number}".encode() for letter in "ab" for number in range(100)]
        assert values(lab) == sorted(expected)
