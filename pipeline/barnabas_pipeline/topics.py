"""What the brokers say about topics, asked through the connector's own Kafka client in the JVM.

A topic that is deleted and created again keeps its name and not its id; its offsets start anew, so
a checkpoint about the old one would skip or repeat records of the new one without a word.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from barnabas_pipeline.files import Files
from barnabas_pipeline.pipeline_error import PipelineError, TopicRecreated
from barnabas_pipeline.spec.model import SourceSpec

_TIMEOUT_MS: Final = 30_000


class Topics:
    """The ids of a source's topics; `close` it."""

    def __init__(self, spark: SparkSession, source: SourceSpec) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._source = source
        properties = self._jvm.java.util.Properties()
        properties.put("bootstrap.servers", source.bootstrap)
        properties.put("default.api.timeout.ms", str(_TIMEOUT_MS))
        properties.put("request.timeout.ms", str(_TIMEOUT_MS))
        for key, value in source.options.items():
            if key.startswith("kafka."):
                properties.put(key.removeprefix("kafka."), value)
        self._admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(properties)

    def close(self) -> None:
        self._admin.close(self._jvm.java.time.Duration.ofSeconds(5))

    def ids(self) -> dict[str, str]:
        """By name; a topic that is not there is left out."""
        names = self._names()
        found = {}
        futures = self._admin.describeTopics(self._listed(names)).topicNameValues()
        for name in names:
            try:
                found[name] = str(futures.get(name).get().topicId())
            except Py4JJavaError as error:
                cause = error.java_exception.getCause()
                if cause and cause.getClass().getSimpleName() == "UnknownTopicOrPartitionException":
                    continue
                raise self._unreachable(error) from error
        return found

    def require(self) -> dict[str, str]:
        """The same; `PipelineError` where a topic is not there, or none is."""
        ids = self.ids()
        missing = [name for name in self._source.topics if name not in ids]
        if missing or not ids:
            what = ", ".join(missing) or f"that matches {self._source.pattern}"
            raise PipelineError(f"no topic {what} on {self._source.bootstrap}")
        return ids

    def ends(self) -> dict[str, dict[str, int]]:
        """The offset after the last record, by topic and partition."""
        partition_of, latest = self._jvm.org.apache.kafka.common.TopicPartition, self._latest()
        try:
            described = self._admin.describeTopics(self._listed(self._names())).allTopicNames()
            wanted = self._jvm.java.util.HashMap()
            for name, topic in described.get().items():
                for each in topic.partitions():
                    wanted.put(partition_of(name, each.partition()), latest)
            offsets = self._admin.listOffsets(wanted).all().get()
        except Py4JJavaError as error:
            raise self._unreachable(error) from error
        found: dict[str, dict[str, int]] = {}
        for place, offset in offsets.items():
            found.setdefault(place.topic(), {})[str(place.partition())] = int(offset.offset())
        return found

    def _latest(self) -> Any:
        return self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest()

    def _listed(self, names: Iterable[str]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for name in names:
            listed.add(name)
        return listed

    def _names(self) -> list[str]:
        if self._source.pattern is None:
            return list(self._source.topics)
        try:
            existing = self._admin.listTopics().names().get()
        except Py4JJavaError as error:
            raise self._unreachable(error) from error
        pattern = self._jvm.java.util.regex.Pattern.compile(self._source.pattern)
        return sorted(name for name in existing if pattern.matcher(name).matches())

    def _unreachable(self, error: Py4JJavaError) -> PipelineError:
        cause = error.java_exception.getCause() or error.java_exception
        return PipelineError(f"{self._source.bootstrap}: {cause.getMessage()}")


class KnownTopics:
    """The ids that a checkpoint was begun with, held against those of now."""

    def __init__(self, files: Files, checkpoint: str) -> None:
        self._files = files
        self._path = f"{checkpoint}/barnabas/topics.json"
        text = files.read_text(self._path)
        self._known: dict[str, str] = json.loads(text) if text else {}

    def check(self, ids: Mapping[str, str]) -> None:
        """`TopicRecreated` where one has another id; those not known yet are written down."""
        for name, known in self._known.items():
            now = ids.get(name)
            if now is not None and now != known:
                raise TopicRecreated(
                    f"topic {name} was deleted and created again (its id was {known}, and is "
                    f"{now}): the checkpoint's offsets mean nothing in it. To go on with the new "
                    "topic, give the pipeline a new `checkpoint`"
                )
        if not ids.keys() <= self._known.keys():
            self._known.update(ids)
            self._files.write_text(self._path, json.dumps(self._known, indent=1, sort_keys=True))
