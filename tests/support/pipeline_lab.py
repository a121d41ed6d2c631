"""What tests of pipelines do with a cluster: topics, records, documents, tables."""

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pyspark.sql import DataFrame, SparkSession

from barnabas_pipeline.pipeline import Pipeline
from bench.compare.usage import children

_NUMBERS = itertools.count()


def kill_tree(pid: int) -> None:
    """SIGKILL to Python, its JVM and the JVM's Python workers, at once."""
    found = [pid]
    for each in found:
        with suppress(FileNotFoundError):  # ended meanwhile, as below
            found += children(each)
    for each in found:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


class Lab:
    def __init__(self, bootstrap: str, directory: Path, spark: SparkSession) -> None:
        self.bootstrap = bootstrap
        self.directory = directory
        self.spark = spark
        self.topics: list[str] = []

    @contextmanager
    def open(self) -> Iterator["Lab"]:
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        # Kept, and flushed after every use.
        self._producer = Producer(
            {"bootstrap.servers": self.bootstrap, "linger.ms": 2, "log_level": 0}
        )
        try:
            yield self
        finally:
            for topic in self.topics:
                self.delete_topic(topic)

    def topic(self, partitions: int = 2, name: str | None = None) -> str:
        """A new one, deleted at the end."""
        chosen = name or f"pipeline-{time.time_ns()}-{next(_NUMBERS)}"
        self._admin.create_topics([NewTopic(chosen, partitions, 1)])[chosen].result(30)
        if chosen not in self.topics:
            self.topics.append(chosen)
        self._wait(lambda: self.partition_count(chosen) == partitions)
        return chosen

    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(30)
        self._wait(lambda: name not in self._admin.list_topics(timeout=30).topics)

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)
        self._wait(lambda: self.partition_count(topic) == total)
        # The producer asks for itself, and would only do so in minutes.
        self._wait(lambda: len(self._producer.list_topics(topic).topics[topic].partitions) == total)

    def partition_count(self, topic: str) -> int:
        found = self._admin.list_topics(timeout=30).topics.get(topic)
        return len(found.partitions) if found else 0

    def write(
        self,
        topic: str,
        values: Sequence[bytes | str | Mapping[str, Any] | None],
        key: bytes | None = None,
        partition: int = -1,
        headers: list[tuple[str, str | bytes | None]] | None = None,
    ) -> None:
        failures: list[object] = []
        for value in values:
            data = json.dumps(value) if isinstance(value, Mapping) else value
            self._producer.produce(
                topic,
                data,
                key,
                partition,
                headers=headers or [],
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
        assert not failures, failures[0]

    def read(self, topic: str, count: int, timeout_s: float = 60) -> list[Any]:
        """The first so many records of all partitions, as confluent-kafka's messages."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused"})
        consumer.assign([TopicPartition(topic, p, 0) for p in range(self.partition_count(topic))])
        found: list[Any] = []
        give_up_at = time.monotonic() + timeout_s
        try:
            while len(found) < count and time.monotonic() < give_up_at:
                found += consumer.consume(count - len(found), timeout=1)
        finally:
            consumer.close()
        assert len(found) == count, f"{len(found)} of {count} records in {topic}"
        return found

    def end_offsets(self, topic: str) -> int:
        """The sum over all partitions: how many records were ever written."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused"})
        try:
            return sum(
                consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30)[1]
                for each in range(self.partition_count(topic))
            )
        finally:
            consumer.close()

    def pipeline(self, text: str, name: str = "pipeline") -> Pipeline:
        return Pipeline.load(self.document(text, name))

    def document(self, text: str, name: str = "pipeline") -> Path:
        """`{bootstrap}` and `{dir}` are filled in."""
        path = self.directory / f"{name}.yaml"
        filled = text.replace("{bootstrap}", self.bootstrap)
        path.write_text(filled.replace("{dir}", str(self.directory)))
        return path

    def table(self, name: str = "table") -> DataFrame:
        return self.spark.read.parquet(str(self.directory / name))

    @staticmethod
    def _wait(is_true: Callable[[], bool], timeout_s: float = 60) -> None:
        give_up_at = time.monotonic() + timeout_s
        while not is_true():
            assert time.monotonic() < give_up_at, "the cluster did not get there"
            time.sleep(0.05)
