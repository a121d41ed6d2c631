"""`barnabas pipeline run` killed again and again: no row is lost, none is there twice."""

import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.pipeline_lab import Lab, kill_tree
from tests.support.process import Child

DOCUMENT = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
  max_records_per_batch: 500
decode: {format: json, schema: "id BIGINT NOT NULL, at TIMESTAMP"}
sinks:
  - parquet:
      path: {dir}/table
      time: {column: at, by: hour}
      compact_after: 1s
  - kafka: {topic: TARGET}
trigger: TRIGGER
checkpoint: {dir}/checkpoint
"""


def command(document: Path) -> list[str]:
    program = str(Path(sys.executable).parent / "barnabas")
    return [program, "pipeline", "run", str(document), "--master", "local[2]"]


class Writer(threading.Thread):
    """Orders at a steady pace until it is told to stop: a run that finds none prints no batch."""

    def __init__(self, lab: Lab, topic: str) -> None:
        super().__init__()
        self._lab = lab
        self._topic = topic
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self.count = 0

    def run(self) -> None:
        try:
            while not self._stopped.wait(0.5):
                self._write(50)
        except BaseException as error:
            self._failure = error
            raise

    def _write(self, count: int) -> None:
        batch = [
            {"id": number, "at": f"2026-11-17T{number // 700 % 24:02}:00:00Z"}
            for number in range(self.count, self.count + count)
        ]
        self._lab.write(self._topic, batch)
        self.count += count

    def stop(self) -> None:
        self._stopped.set()
        self.join(90)
        assert not self.is_alive(), "still writing"
        assert self._failure is None, self._failure


def killed_and_resumed(lab: Lab, kill_count: int) -> None:
    topic, target = lab.topic(2), lab.topic(2)
    text = DOCUMENT.replace("TOPIC", topic).replace("TARGET", target)
    endless = lab.document(text.replace("TRIGGER", "{interval: 100ms}"), "endless")
    rng = random.Random(kill_count)
    writer = Writer(lab, topic)
    writer.start()
    try:
        for number in range(kill_count):
            child = Child(command(endless), lab.directory / f"run-{number}.out")
            try:
                child.wait_for_line("batch ", timeout_s=240)
                time.sleep(rng.uniform(0, 2))  # wherever it is then
            finally:
                kill_tree(child.process.pid)
                child.process.wait(60)
    finally:
        writer.stop()
    # What is left all at once: small batches are there to be killed in.
    unlimited = text.replace("  max_records_per_batch: 500\n", "")
    last = lab.document(unlimited.replace("TRIGGER", "available-now"), "last")
    child = Child(command(last), lab.directory / "last.out")
    assert child.process.wait(300) == 0, child.output()

    in_table = Counter(row.id for row in lab.table().select("id").collect())
    assert in_table == Counter(range(writer.count))
    ids = {
        dict(each.headers())["barnabas-record-id"]
        for each in lab.read(target, lab.end_offsets(target))
    }
    assert len(ids) == writer.count  # at least once, and the id tells


@pytest.mark.timeout(900)
@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_a_query_that_is_killed_twice_has_every_row_once(lab: Lab) -> None:
    killed_and_resumed(lab, 2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_query_that_is_killed_twenty_times_has_every_row_once(lab: Lab) -> None:
    killed_and_resumed(lab, 20)
