"""Requests as they are counted and timed."""

from typing import TYPE_CHECKING, cast

from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.histogram import Histogram
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import Dispatcher, Encoded, Handler, Peer, Reply, RequestContext
from barnabas_core.server.error_count import error_counter
from barnabas_core.server.request_meter import ERRORS, PHASE_TIME, REQUESTS, RequestMeter
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from barnabas_core.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.support.manual_clock import ManualClock

if TYPE_CHECKING:
    from barnabas_core.server.answer import Part

PEER = Peer("192.0.2.1", 4711, "PLAINTEXT")
VERSION = 4


def _frame() -> bytearray:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    return bytearray(b"".join(cast("list[bytes]", encode_request(request, VERSION, 7, "me")))[4:])


def _phases(meter: RequestMeter) -> dict[str, float]:
    found = {}
    for figure in meter():
        if figure.metric is PHASE_TIME:
            assert isinstance(figure.value, Histogram)
            assert figure.value.count == 1
            found[figure.labels[1]] = figure.value.total_s
    return found


def test_every_phase_of_a_request_is_timed() -> None:
    clock = ManualClock()
    meter = RequestMeter(clock)
    answer: Deferred[InitProducerIdResponse] = Deferred()

    def handle(request: InitProducerIdRequest, context: RequestContext) -> Reply:
        clock.advance(20)
        return answer

    dispatcher = Dispatcher([Handler(ApiKey.INIT_PRODUCER_ID, handle)], EventLog(), meter)
    trace = meter.new_trace()
    arrived_ns = clock.monotonic_ns()
    clock.advance(1)
    trace.on_started(arrived_ns)
    sent: list[list[Part] | None] = []
    dispatcher.dispatch(_frame(), PEER, sent.append, trace)
    clock.advance(300)
    answer.resolve(InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    clock.advance(4_000)
    trace.on_sent()

    assert _phases(meter) == {"queue": 0.001, "local": 0.02, "remote": 0.3, "response": 4.0}
    figures = list(meter())
    counts = {one.metric: (one.labels, one.value) for one in figures if len(one.labels) < 3}
    assert counts[REQUESTS] == (("InitProducerId",), 1)
    assert counts[ERRORS] == (("InitProducerId", "CLUSTER_AUTHORIZATION_FAILED"), 1)


def test_an_answer_given_at_once_has_waited_for_nobody() -> None:
    clock = ManualClock()
    meter = RequestMeter(clock)
    dispatcher = Dispatcher(
        [Handler(ApiKey.INIT_PRODUCER_ID, lambda _, __: InitProducerIdResponse())],
        EventLog(),
        meter,
    )
    trace = meter.new_trace()
    trace.on_started(clock.monotonic_ns())
    dispatcher.dispatch(_frame(), PEER, lambda _: None, trace)
    trace.on_sent()

    assert _phases(meter)["remote"] == 0


def test_errors_in_an_answer_that_somebody_else_encoded_are_counted() -> None:
    meter = RequestMeter(ManualClock())
    response = encode(InitProducerIdResponse(error_code=15), VERSION)
    dispatcher = Dispatcher(
        [Handler(ApiKey.INIT_PRODUCER_ID, lambda _, __: Encoded(response))], EventLog(), meter
    )

    dispatcher.dispatch(_frame(), PEER, lambda _: None, meter.new_trace())

    assert meter.of(ApiKey.INIT_PRODUCER_ID).errors == {15: 1}


def test_a_request_that_was_refused_is_not_counted() -> None:
    meter = RequestMeter(ManualClock())
    trace = meter.new_trace()

    trace.on_started(0)
    trace.on_sent()

    assert list(meter()) == []


def test_errors_are_found_wherever_a_response_keeps_them() -> None:
    counts: dict[int, int] = {}
    produce = ProduceResponse(
        responses=[
            TopicProduceResponse(
                partition_responses=[
                    PartitionProduceResponse(error_code=0),
                    PartitionProduceResponse(error_code=3),
                    PartitionProduceResponse(error_code=3),
                ]
            )
        ]
    )
    error_counter(ProduceResponse)(produce, counts)
    elect = ElectLeadersResponse(
        error_code=41,
        replica_election_results=[ReplicaElectionResult("t", [PartitionResult(0, 84)])],
    )
    error_counter(ElectLeadersResponse)(elect, counts)

    assert counts == {3: 2, 41: 1, 84: 1}


def test_every_response_there_is_can_be_looked_at() -> None:
    for info in API_BY_KEY.values():
        counts: dict[int, int] = {}
        error_counter(info.response)(info.response(), counts)
        assert counts == {}, info.name
