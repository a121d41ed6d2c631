"""Metrics that clients push: who is asked, who may speak, what is understood."""

import pytest

from barnabas_broker.telemetry import client_figures, instances
from barnabas_broker.telemetry.client_figures import ClientFigures
from barnabas_broker.telemetry.instances import ClientInstance, ClientInstances
from barnabas_broker.telemetry.payload import BadPayload, Point, metric_name, read_payload
from barnabas_broker.telemetry.subscription import ClientTraits, Subscriptions
from barnabas_core.links.proto import otlp_metrics_pb2 as pb
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import CLIENT_METRICS_RESOURCE
from barnabas_core.records.compression import Compression, compress
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.push_telemetry_request import PushTelemetryRequest
from tests.support.cluster_image import replayed
from tests.support.manual_clock import ManualClock

ID = bytes(range(16))
CLIENT = ClientTraits(ID, "orders-1", "librdkafka", "2.12.0", "192.0.2.7", 4711)
MAX = 1000


def _image(**resources: dict[str, str]) -> Image:
    records = [
        ConfigRecord(CLIENT_METRICS_RESOURCE, name, key.replace("_", "."), value)
        for name, configs in resources.items()
        for key, value in configs.items()
    ]
    return replayed(records)[1]


def test_a_client_is_asked_for_what_the_resources_that_fit_it_name() -> None:
    image = _image(
        a={"metrics": "producer.,consumer.", "interval_ms": "5000"},
        b={"metrics": "consumer.,other.", "interval_ms": "1000", "match": "client_id=orders.*"},
        c={"metrics": "secret.", "interval_ms": "100", "match": "client_id=orders"},
        d={"metrics": "no.", "match": "client_software_name=librdkafka,client_source_port=1"},
    )

    found = Subscriptions(image).of(CLIENT)

    assert found.metrics == ("producer.", "consumer.", "other.")
    assert found.interval_ms == 1000


def test_a_star_is_everything_and_no_resource_is_nothing() -> None:
    assert Subscriptions(_image(a={"metrics": "x,*"})).of(CLIENT).metrics == ("*",)
    nothing = Subscriptions(_image()).of(CLIENT)
    assert (nothing.metrics, nothing.interval_ms) == ((), 300_000)


def test_another_subscription_has_another_id() -> None:
    one = Subscriptions(_image(a={"metrics": "x"})).of(CLIENT)
    other = Subscriptions(_image(a={"metrics": "y"})).of(CLIENT)

    assert one.id != other.id
    assert one == Subscriptions(_image(a={"metrics": "x"})).of(CLIENT)
    assert -(2**31) <= one.id < 2**31


def _client(interval_ms: int = 1000) -> ClientInstance:
    image = _image(a={"metrics": "*", "interval_ms": str(interval_ms)})
    return ClientInstances().find(CLIENT, image, 0)


def _push(client: ClientInstance, **fields: object) -> PushTelemetryRequest:
    request = PushTelemetryRequest(ID, client.subscription.id, metrics=b"x")
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_a_client_may_push_after_it_asked_and_then_once_per_interval() -> None:
    client = _client()
    assert client.on_asked(0) is ErrorCode.NONE
    assert client.on_pushed(_push(client), MAX, 1) is ErrorCode.NONE

    early = client.on_pushed(_push(client), MAX, 1000)
    late = client.on_pushed(_push(client), MAX, 1001)

    assert early is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert late is ErrorCode.NONE


def test_a_client_that_asks_too_often_is_told_to_wait() -> None:
    client = _client()
    assert client.on_asked(0) is ErrorCode.NONE
    assert client.on_asked(999) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert client.on_asked(1000) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subscription_id": 7}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": bytes(MAX + 1)}, ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
def test_what_is_wrong_with_a_push_is_told(fields: dict[str, object], error: ErrorCode) -> None:
    client = _client()
    client.on_asked(0)

    assert client.on_pushed(_push(client, **fields), MAX, 1) is error


def test_a_client_with_an_old_subscription_may_ask_at_once() -> None:
    client = _client()
    client.on_asked(0)
    client.on_pushed(_push(client, subscription_id=7), MAX, 1)

    assert client.on_asked(2) is ErrorCode.NONE


def test_the_last_word_may_come_early_and_is_the_last() -> None:
    client = _client()
    client.on_asked(0)
    client.on_pushed(_push(client), MAX, 1)

    assert client.on_pushed(_push(client, terminating=True), MAX, 2) is ErrorCode.NONE
    assert client.on_pushed(_push(client), MAX, 5000) is ErrorCode.INVALID_REQUEST


def test_a_changed_subscription_is_seen_with_the_next_request() -> None:
    known = ClientInstances()
    first = known.find(CLIENT, _image(a={"metrics": "x"}), 0)
    image = _image(a={"metrics": "y"})

    second = known.find(CLIENT, image, 1)

    assert second.subscription.metrics == ("y",)
    assert second.subscription.id != first.subscription.id
    assert known.find(CLIENT, image, 2) is second


def test_the_number_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "INSTANCE_COUNT_MAX", 3)
    known, image = ClientInstances(), _image()
    for number in range(10):
        traits = ClientTraits(bytes([number] * 16), "", "", "", "", 0)
        known.find(traits, image, number)

    assert len(known) == 3


# --- payloads


def _payload(*metrics: pb.Metric) -> bytes:
    scope = pb.ScopeMetrics(metrics=metrics)
    resource = pb.ResourceMetrics(scope_metrics=[scope])
    return pb.MetricsData(resource_metrics=[resource]).SerializeToString()


def _sum(name: str, value: int, temporality: int = 2, **labels: str) -> pb.Metric:
    attributes = [
        pb.KeyValue(key=key.replace("_", "."), value=pb.AnyValue(string_value=text))
        for key, text in labels.items()
    ]
    point = pb.NumberDataPoint(as_int=value, attributes=attributes)
    total = pb.Sum(data_points=[point], aggregation_temporality=temporality, is_monotonic=True)
    return pb.Metric(name=name, sum=total)


def _gauge(name: str, value: float) -> pb.Metric:
    return pb.Metric(name=name, gauge=pb.Gauge(data_points=[pb.NumberDataPoint(as_double=value)]))


@pytest.mark.parametrize("codec", Compression)
def test_gauges_and_sums_are_understood_however_they_are_packed(codec: Compression) -> None:
    payload = _payload(
        _sum("org.apache.kafka.producer.record.send.total", 7, node_id="3"),
        _gauge("org.apache.kafka.producer.queue-depth", 0.5),
    )

    points = read_payload(codec, compress(codec, payload), 10_000)

    assert points == [
        Point("barnabas_client_producer_record_send_total", (("attr_node_id", "3"),), 7, False),
        Point("barnabas_client_producer_queue_depth", (), 0.5, False),
    ]


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x05ab"])
def test_rubbish_is_no_payload(data: bytes) -> None:
    with pytest.raises(BadPayload):
        read_payload(Compression.NONE, data, 10_000)


def test_a_payload_that_grows_out_of_bounds_is_refused() -> None:
    bomb = compress(Compression.ZSTD, bytes(10_000_000))

    with pytest.raises(BadPayload):
        read_payload(Compression.ZSTD, bomb, 10_000)


def test_names_are_such_as_prometheus_takes() -> None:
    assert metric_name("", is_counter=False) == "barnabas_client_unnamed"
    assert metric_name('ä"{}\n.x', is_counter=False) == "barnabas_client_x"
    assert metric_name("a.total", is_counter=True) == "barnabas_client_a_total"
    assert metric_name("a.total", is_counter=False) == "barnabas_client_a"


# --- figures


def test_differences_add_up_and_totals_replace() -> None:
    figures = ClientFigures(ManualClock())
    for _ in range(3):
        points = [Point("a_total", (), 5, is_delta=True), Point("b", (), 2, is_delta=False)]
        figures.take(ID, "me", points, 1000)

    found = {one.metric.name: one.value for one in figures() if "client_id" in one.metric.labels}

    assert found == {"a_total": 15, "b": 2}


def test_a_client_that_falls_silent_is_forgotten() -> None:
    clock = ManualClock()
    figures = ClientFigures(clock)
    figures.take(ID, "me", [Point("a", (), 1, is_delta=False)], 1000)

    clock.advance(1000)

    assert [one for one in figures() if "client_id" in one.metric.labels] == []
    figures.take(ID, "me", [Point("a", (), 1, is_delta=False)], 1000)
    assert len([one for one in figures() if "client_id" in one.metric.labels]) == 1


def test_figures_of_clients_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_figures, "_POINT_COUNT_MAX", 10)
    monkeypatch.setattr(client_figures, "_CLIENT_COUNT_MAX", 2)
    figures = ClientFigures(ManualClock())
    for number in range(5):
        points = [Point(f"p{n}", (), 1, is_delta=False) for n in range(4)]
        figures.take(bytes([number] * 16), "me", points, 1000)

    assert len([one for one in figures() if "client_id" in one.metric.labels]) <= 10
    counts = {one.metric.name: one.value for one in figures()}
    assert counts["barnabas_telemetry_clients"] == 2
