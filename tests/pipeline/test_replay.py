"""Tables back into topics, and the round trip from a topic and back proved by an audit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas import EmbeddedCluster
from barnabas_pipeline.audit.run import run_audit
from barnabas_pipeline.audit.spec import Against, AuditSpec, Kind, TableEndpoint, TopicEndpoint
from barnabas_pipeline.replay.job import run_replay
from barnabas_pipeline.replay.spec import ReplaySpec
from tests.support.spark_rows import Plain, from_connector, plain_rows

PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def topic(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name)[:200]
    cluster.create_topic(name, partitions=PARTITIONS)
    return name


def write_table(spark: SparkSession, path: Path, first: int, count: int) -> None:
    """Rows as `lake` keeps them, in two files."""
    rows = spark.range(first, first + count, numPartitions=2).selectExpr(
        "cast(concat('key ', id % 10) as binary) as key",
        "cast(id as string) as text",
        "cast(cast(id as string) as binary) as value",
        "array(struct('n' as key, cast(cast(id as string) as binary) as value)) as headers",
        f"cast(id % {PARTITIONS} as int) as partition",
        "id as offset",
    )
    rows.write.mode("append").parquet(str(path))


def replayed(spark: SparkSession, cluster: EmbeddedCluster, topic: str) -> list[Plain]:
    return plain_rows(from_connector(spark, cluster.bootstrap_servers, topic))


def test_key_value_headers_and_partition_come_back_in_order(
    spark: SparkSession, cluster: EmbeddedCluster, topic: str, tmp_path: Path
) -> None:
    write_table(spark, tmp_path / "table", 0, 300)
    spec = ReplaySpec(
        str(tmp_path / "table"),
        cluster.bootstrap_servers,
        topic,
        partition="partition",
        order_by=("offset",),
    )

    done = run_replay(spark, spec)

    assert (done.row_count, done.step_count) == (300, 1)
    rows = replayed(spark, cluster, topic)
    numbers = [int(value) for _, value, *_ in rows]
    assert numbers == [n for part in range(PARTITIONS) for n in range(part, 300, PARTITIONS)]
    for key, value, _, partition, *_, headers in rows:
        assert key == b"key %d" % (int(value) % 10)
        assert partition == int(value) % PARTITIONS
        assert headers == (("n", value),)


def test_expressions_make_records_of_any_table_at_a_rate(
    spark: SparkSession, cluster: EmbeddedCluster, topic: str, tmp_path: Path
) -> None:
    write_table(spark, tmp_path / "table", 0, 50)
    spec = ReplaySpec(
        str(tmp_path / "table"),
        cluster.bootstrap_servers,
        topic,
        key="text",
        value="to_json(struct(text))",
        headers="cast(null as array<struct<key: string, value: binary>>)",
        rows_per_second=500,
    )

    run_replay(spark, spec)

    rows = replayed(spark, cluster, topic)
    assert sorted(int(key) for key, *_ in rows) == list(range(50))
    assert all(value == b'{"text":"%s"}' % key for key, value, *_ in rows)


def test_what_the_checkpoint_knows_is_not_sent_again(
    spark: SparkSession, cluster: EmbeddedCluster, topic: str, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    spec = ReplaySpec(
        str(table),
        cluster.bootstrap_servers,
        topic,
        checkpoint=str(tmp_path / "checkpoint"),
        files_per_step=1,
    )
    write_table(spark, table, 0, 100)

    first = run_replay(spark, spec)
    again = run_replay(spark, spec)
    write_table(spark, table, 100, 20)
    more = run_replay(spark, spec)

    assert (first.row_count, first.step_count) == (100, 2)
    assert (again.row_count, again.step_count) == (0, 0)
    assert more.row_count == 20
    values = sorted(int(value) for _, value, *_ in replayed(spark, cluster, topic))
    assert values == list(range(120))


def test_an_audit_proves_the_replay_and_finds_one_done_twice(
    spark: SparkSession, cluster: EmbeddedCluster, topic: str, tmp_path: Path
) -> None:
    table = str(tmp_path / "table")
    write_table(spark, tmp_path / "table", 0, 90)
    spec = ReplaySpec(table, cluster.bootstrap_servers, topic)
    proof = AuditSpec(
        TableEndpoint(table),
        id=("header:n",),
        against=Against(TopicEndpoint(cluster.bootstrap_servers, topic)),
    )

    run_replay(spark, spec)
    once = run_audit(spark, proof)
    run_replay(spark, spec)
    twice = run_audit(spark, proof)

    assert once.is_sound
    assert once.comparison is not None
    assert once.comparison.equal_count == 90
    assert {it.kind: it.count for it in twice.findings} == {Kind.DOUBLED: 90}


def test_a_topic_read_through_its_brokers_is_audited_too(
    spark: SparkSession, cluster: EmbeddedCluster, topic: str, tmp_path: Path
) -> None:
    write_table(spark, tmp_path / "table", 0, 90)
    spec = ReplaySpec(
        str(tmp_path / "table"),
        cluster.bootstrap_servers,
        topic,
        partition="partition",
        order_by=("-offset",),
    )
    run_replay(spark, spec)

    report = run_audit(
        spark,
        AuditSpec(
            TopicEndpoint(cluster.bootstrap_servers, topic),
            id=("value",),
            sequence="cast(cast(value as string) as bigint)",
        ),
    )

    # Sent backwards, so that each record but the first of a partition goes back.
    assert {it.kind: it.count for it in report.findings} == {Kind.SEQUENCE_BACK: 87}
    assert [it.record_count for it in report.partitions] == [30, 30, 30]
