"""`barnabas pipeline` as people call it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas_pipeline.pipeline_error import PipelineError
from tests.support.pipeline_lab import Lab

PROGRAM = str(Path(sys.executable).parent / "barnabas")
DOCUMENT = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: json, schema: "id BIGINT NOT NULL"}
steps:
  - sql: SELECT id * 2 AS twice FROM stream
sinks:
  - parquet: {path: "{dir}/table"}
bad_records: drop
checkpoint: {dir}/checkpoint
metrics_port: 0
"""


def call(*arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [PROGRAM, "pipeline", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_document_is_checked_without_spark(tmp_path: Path) -> None:
    document = tmp_path / "orders.yaml"
    document.write_text("source: {bootstrap: 'h:1', topcs: [a]}\n")

    code, _, complaint = call("validate", str(document))

    assert code == 2
    assert f"{document}:1: source.topcs: no such field; did you mean `topics`?" in complaint


def test_run_refuses_a_wrong_document_before_anything_else(tmp_path: Path) -> None:
    code, _, complaint = call("run", str(tmp_path / "nowhere.yaml"), PATH="", JAVA_HOME="")

    assert code == 2
    assert "nowhere.yaml" in complaint


def test_a_property_without_a_value_is_refused(lab_less: Path) -> None:
    code, _, complaint = call("run", str(lab_less), "--conf", "spark.driver.host")

    assert code == 2
    assert "`spark.driver.host` is not KEY=VALUE" in complaint


def test_without_java_it_says_how_to_get_it(lab_less: Path) -> None:
    code, _, complaint = call("run", str(lab_less), PATH="", JAVA_HOME="")

    assert code == 1
    assert "Spark needs Java 17 or newer" in complaint
    assert "apt install default-jre-headless" in complaint


@pytest.fixture
def lab_less(tmp_path: Path) -> Path:
    document = tmp_path / "orders.yaml"
    text = DOCUMENT.replace("{bootstrap}", "127.0.0.1:1").replace("TOPIC", "orders")
    document.write_text(text.replace("{dir}", str(tmp_path)))
    return document


@pytest.mark.parametrize("package", ["yaml", "pyspark"])
def test_without_the_extra_it_says_how_to_get_it(
    tmp_path: Path, lab_less: Path, package: str
) -> None:
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name='{package}')\n")

    code, _, complaint = call("run", str(lab_less), PYTHONPATH=str(tmp_path))

    assert code == 1
    assert complaint.strip().endswith("install the extra, pip install 'barnabas[pipeline]'")


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_run_tells_progress_and_a_summary(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ['{"id": 1}', "bad", '{"id": 3}'])
    document = lab.document(DOCUMENT.replace("TOPIC", topic))

    code, output, complaint = call("run", str(document), "--master", "local[1]")

    assert code == 0, complaint
    assert "metrics: http://127.0.0.1:" in output
    assert "3 records read" in output
    assert output.strip().endswith("2 rows written, 1 bad")
    assert sorted(row.twice for row in lab.table().collect()) == [2, 6]


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_preview_shows_decoded_rows_and_leaves_the_checkpoint_alone(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ['{"id": 1}', "bad"])
    pipeline = lab.pipeline(DOCUMENT.replace("TOPIC", topic))

    rows = pipeline.preview(lab.spark).collect()

    assert [(row.id, row.bad_reason) for row in rows] == [
        (1, None),
        (None, "the value is not JSON"),
    ]
    assert not (lab.directory / "checkpoint").exists()


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_preview_of_the_latest_offsets_shows_what_is_there(lab: Lab) -> None:
    topic = lab.topic(1)
    lab.write(topic, ['{"id": 1}'])
    start = f"[{topic}]\n  starting_offsets: {{offsets: {{{topic}: {{0: -1}}}}}}"

    rows = lab.pipeline(DOCUMENT.replace("[TOPIC]", start)).preview(lab.spark).collect()

    assert [row.id for row in rows] == [1]


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_preview_names_a_topic_that_is_not_there(lab: Lab) -> None:
    with pytest.raises(PipelineError, match=f"no topic nowhere on {lab.bootstrap}"):
        lab.pipeline(DOCUMENT.replace("TOPIC", "nowhere")).preview(lab.spark)


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_explain_shows_the_plan(lab: Lab) -> None:
    topic = lab.topic(1)

    plan = lab.pipeline(DOCUMENT.replace("TOPIC", topic)).explain(lab.spark)

    assert "Project" in plan
    assert "kafka" in plan.lower()
    assert not (lab.directory / "checkpoint").exists()


@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_lake_keeps_everything_a_record_has(lab: Lab) -> None:
    topic = lab.topic(2)
    lab.write(topic, ["a", "b"], key=b"k", partition=1, headers=[("h", b"v")])
    table = lab.directory / "table"

    code, output, complaint = call(
        "lake", "--bootstrap", lab.bootstrap, "--topic", topic, "--path", str(table)
    )

    assert code == 0, complaint
    assert "2 rows written" in output
    rows = lab.table().orderBy("offset").collect()
    assert [(bytes(row.value), row.partition, row.offset) for row in rows] == [
        (b"a", 1, 0),
        (b"b", 1, 1),
    ]
    assert bytes(rows[0].key) == b"k"
    assert [(each.key, bytes(each.value)) for each in rows[0].headers] == [("h", b"v")]
    assert rows[0].topic == topic
    assert rows[0].day == rows[0].timestamp.date() or str(rows[0].day)
