"""What went in and out, by topic: counted from the answers of Produce and Fetch."""

from collections.abc import Iterator
from dataclasses import replace
from struct import Struct
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_core.runtime.metrics.definition import counter
from barnabas_core.runtime.metrics.registry import Figure
from barnabas_core.server.dispatch import Handler
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.produce_request import ProduceRequest, TopicProduceData
from barnabas_core.wire.messages.produce_response import ProduceResponse

BYTES_IN: Final = counter(
    "barnabas_topic_bytes_in_total",
    "Bytes of record batches that producers wrote.",
    "topic",
    jmx="kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=*",
)
MESSAGES_IN: Final = counter(
    "barnabas_topic_messages_in_total",
    "Records that producers wrote.",
    "topic",
    jmx="kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic=*",
)
BYTES_OUT: Final = counter(
    "barnabas_topic_bytes_out_total",
    "Bytes of record batches that consumers were given.",
    "topic",
    jmx="kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic=*",
)
FETCHES: Final = counter(
    "barnabas_topic_fetches_total",
    "Answers to fetches that held records, one for each partition.",
    "topic",
    jmx="kafka.server:type=BrokerTopicMetrics,name=TotalFetchRequestsPerSec,topic=*",
)
FAILED_APPENDS: Final = counter(
    "barnabas_topic_failed_appends_total",
    "Batches that were refused, of topics that there are.",
    "topic",
    jmx="kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec,topic=*",
)
ACROSS_RACKS: Final = counter(
    "barnabas_fetch_bytes_across_racks_total",
    "Bytes of record batches given to consumers that are in another rack than this broker.",
)
METRICS: Final = (BYTES_IN, MESSAGES_IN, BYTES_OUT, FETCHES, FAILED_APPENDS, ACROSS_RACKS)

_RECORD_COUNT: Final = Struct(">57xi").unpack_from


class TopicTraffic:
    __slots__ = ("bytes_in", "bytes_out", "failed_appends", "fetches", "messages_in")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.messages_in = 0
        self.bytes_out = 0
        self.fetches = 0
        self.failed_appends = 0


class Traffic:
    """A topic is counted from its first record on, as long as it is there."""

    def __init__(self, view: ClusterView, rack: str | None) -> None:
        self._view = view
        self._rack = rack
        self._topics: dict[str, TopicTraffic] = {}
        self._across_racks_bytes = 0

    def watched(self, handler: Handler) -> Handler:
        if handler.api is ApiKey.PRODUCE:
            return replace(handler, on_answered=self.on_produced)
        if handler.api is ApiKey.FETCH:
            return replace(handler, on_answered=self.on_fetched)
        return handler

    def on_produced(self, request: ProduceRequest, response: ProduceResponse | None) -> None:
        if response is None:  # acks=0, and everything was taken
            for topic in request.topic_data:
                traffic = self._of(topic.name, topic.topic_id)
                for data in topic.partition_data:
                    _count(traffic, data.records)
            return
        for topic, answer in zip(request.topic_data, response.responses, strict=True):
            self._count_topic(topic, [one.error_code for one in answer.partition_responses])

    def _count_topic(self, topic: TopicProduceData, errors: list[int]) -> None:
        traffic = self._of(topic.name, topic.topic_id)
        if traffic is None:
            return
        for data, error in zip(topic.partition_data, errors, strict=True):
            if error:
                traffic.failed_appends += 1
            else:
                _count(traffic, data.records)

    def on_fetched(self, request: FetchRequest, response: FetchResponse) -> None:
        is_elsewhere = bool(self._rack and request.rack_id and request.rack_id != self._rack)
        for topic in response.responses:
            total = count = 0
            for data in topic.partitions:
                if data.records:
                    total += len(data.records)
                    count += 1
            if not total:
                continue
            traffic = self._of(topic.topic, topic.topic_id)
            if traffic is not None:
                traffic.bytes_out += total
                traffic.fetches += count
            if is_elsewhere:
                self._across_racks_bytes += total

    def _of(self, name: str, topic_id: bytes) -> TopicTraffic | None:
        """None: there is no such topic. What a client makes up must cost no memory."""
        if not name:
            image = self._view.topic_by_id(topic_id)
            if image is None:
                return None
            name = image.name
        found = self._topics.get(name)
        if found is None and self._view.topic(name) is not None:
            found = self._topics[name] = TopicTraffic()
        return found

    def __call__(self) -> Iterator[Figure]:
        for name, topic in list(self._topics.items()):
            if self._view.topic(name) is None:
                del self._topics[name]
                continue
            yield Figure(BYTES_IN, (name,), topic.bytes_in)
            yield Figure(MESSAGES_IN, (name,), topic.messages_in)
            yield Figure(BYTES_OUT, (name,), topic.bytes_out)
            yield Figure(FETCHES, (name,), topic.fetches)
            yield Figure(FAILED_APPENDS, (name,), topic.failed_appends)
        yield Figure(ACROSS_RACKS, (), self._across_racks_bytes)


def _count(traffic: TopicTraffic | None, records: bytes | bytearray | memoryview | None) -> None:
    if traffic is not None and records is not None:
        traffic.bytes_in += len(records)
        traffic.messages_in += _RECORD_COUNT(records)[0]
