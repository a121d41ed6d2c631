"""What went in and out, as Prometheus is told."""

from barnabas_broker.observation.isr_changes import IsrChanges
from barnabas_broker.observation.traffic import (
    ACROSS_RACKS,
    BYTES_IN,
    BYTES_OUT,
    FAILED_APPENDS,
    MESSAGES_IN,
    Traffic,
)
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import Image, Provenance
from barnabas_core.runtime.metrics.definition import Metric
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from tests.support.broker_bench import TOPIC, TOPIC_ID, batch
from tests.support.cluster_image import broker, cluster_view, topic

VIEW = cluster_view([broker(), *topic(TOPIC, TOPIC_ID, [(1,), (1,)])])


def _of(traffic: Traffic, metric: Metric) -> dict[tuple[str, ...], object]:
    return {figure.labels: figure.value for figure in traffic() if figure.metric is metric}


def _produce(name: str = TOPIC, topic_id: bytes = bytes(16)) -> ProduceRequest:
    data = [PartitionProduceData(index, batch([b"a", b"b", b"c"])) for index in (0, 1)]
    return ProduceRequest(topic_data=[TopicProduceData(name, topic_id, data)])


def _produced(*errors: int) -> ProduceResponse:
    answers = [PartitionProduceResponse(index, error) for index, error in enumerate(errors)]
    return ProduceResponse(responses=[TopicProduceResponse(partition_responses=answers)])


def _fetched(size: int, name: str = TOPIC) -> FetchResponse:
    partitions = [PartitionData(0, records=bytes(size)), PartitionData(1, records=b"")]
    return FetchResponse(responses=[FetchableTopicResponse(name, partitions=partitions)])


def test_what_was_taken_is_counted_and_what_was_refused_apart() -> None:
    traffic = Traffic(VIEW, None)
    request = _produce()

    traffic.on_produced(request, _produced(0, ErrorCode.CORRUPT_MESSAGE))

    size = len(request.topic_data[0].partition_data[0].records or b"")
    assert _of(traffic, BYTES_IN) == {(TOPIC,): size}
    assert _of(traffic, MESSAGES_IN) == {(TOPIC,): 3}
    assert _of(traffic, FAILED_APPENDS) == {(TOPIC,): 1}


def test_a_produce_without_an_answer_was_taken_whole() -> None:
    traffic = Traffic(VIEW, None)

    traffic.on_produced(_produce("", TOPIC_ID), None)

    assert _of(traffic, MESSAGES_IN) == {(TOPIC,): 6}


def test_a_topic_that_is_made_up_costs_nothing() -> None:
    traffic = Traffic(VIEW, None)

    traffic.on_produced(_produce("made up"), _produced(3, 3))
    traffic.on_produced(_produce("", b"x" * 16), _produced(100, 100))

    assert _of(traffic, FAILED_APPENDS) == {}


def test_bytes_out_are_those_of_answers_with_records() -> None:
    traffic = Traffic(VIEW, "here")

    traffic.on_fetched(FetchRequest(rack_id="here"), _fetched(100))
    traffic.on_fetched(FetchRequest(rack_id=""), _fetched(10))
    traffic.on_fetched(FetchRequest(rack_id="there"), _fetched(1))

    assert _of(traffic, BYTES_OUT) == {(TOPIC,): 111}
    assert _of(traffic, ACROSS_RACKS) == {(): 1}


def test_a_topic_that_is_gone_is_forgotten() -> None:
    view = cluster_view([broker(), *topic(TOPIC, TOPIC_ID, [(1,), (1,)])])
    traffic = Traffic(view, None)
    traffic.on_fetched(FetchRequest(), _fetched(100))

    view.image = _after(view.image, RemoveTopicRecord(TOPIC_ID))[1]

    assert _of(traffic, BYTES_OUT) == {}


def test_isr_changes_are_counted_by_their_leader() -> None:
    before = cluster_view([broker(), *topic(TOPIC, TOPIC_ID, [(1, 2, 3), (2, 1, 3)])]).image
    changes = IsrChanges(1)
    shrunk = [PartitionChangeRecord(number, TOPIC_ID, isr=[1, 2]) for number in (0, 1)]

    delta, smaller = _after(before, *shrunk)
    changes.on_delta(delta, before, smaller)
    assert (changes.shrink_count, changes.expand_count) == (1, 0)

    delta, larger = _after(smaller, PartitionChangeRecord(0, TOPIC_ID, isr=[1, 2, 3]))
    changes.on_delta(delta, smaller, larger)
    assert (changes.shrink_count, changes.expand_count) == (1, 1)


def _after(before: Image, *records: object) -> tuple[Delta, Image]:
    delta = Delta(before)
    for record in records:
        delta.replay(record)  # type: ignore[arg-type]
    return delta, delta.apply(Provenance(before.provenance.offset + 1, 0, 0))
