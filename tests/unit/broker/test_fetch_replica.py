"""Where a consumer reads: the leader that it should have asked, or a replica that is nearer."""

from pathlib import Path

import pytest

from barnabas_broker.fetching.replica_selector import is_rack_aware
from barnabas_core.config.error import ConfigError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData
from tests.support.broker_bench import (
    TOPIC,
    TOPIC_ID,
    BrokerBench,
    batch,
    collect,
    context,
    run,
)
from tests.support.cluster_image import broker, cluster_view, topic

MANY = 2**31 - 1
REPLICAS = (1, 2, 3, 4)


def ask(
    bench: BrokerBench,
    offset: int = 0,
    *,
    version: int = 17,
    rack: str = "",
    leader_epoch: int = -1,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
) -> FetchResponse | Deferred[FetchResponse]:
    wanted = FetchPartition(0, leader_epoch, offset, partition_max_bytes=MANY)
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        session_epoch=-1,
        rack_id=rack,
        topics=[FetchTopic(TOPIC, TOPIC_ID, [wanted])],
    )
    reply = bench.fetch.handle(request, context(version))
    assert isinstance(reply, FetchResponse | Deferred)
    return reply


def data_of(reply: FetchResponse | Deferred[FetchResponse]) -> PartitionData:
    assert isinstance(reply, FetchResponse)
    (data,) = reply.responses[0].partitions
    return data


def spread(bench: BrokerBench, *, isr: tuple[int, ...] = REPLICAS, leader_epoch: int = 0) -> None:
    """Four replicas in racks a, b, b and c; this broker, the first, leads."""
    racks = zip(REPLICAS, ("a", "b", "b", "c"), strict=True)
    brokers = [broker(number, rack=rack) for number, rack in racks]
    bench.view.image = cluster_view([*brokers, *topic(TOPIC, TOPIC_ID, [REPLICAS])]).image
    image = bench.view.partition(TOPIC, 0)
    assert image is not None
    image = image._replace(isr=isr, partition_epoch=1, leader_epoch=leader_epoch)
    bench.partition().lead(1, image, bench.clock.now_ms())


def ack(bench: BrokerBench, **ends: int) -> None:
    for name, end in ends.items():
        bench.partition().on_acked(int(name.removeprefix("broker")), end, bench.clock.now_ms())


def follow(bench: BrokerBench, leader: int = 2, leader_epoch: int = 1) -> None:
    spread(bench)
    image = bench.view.partition(TOPIC, 0)
    assert image is not None
    bench.partition().follow(image._replace(leader=leader, leader_epoch=leader_epoch))


@pytest.mark.parametrize(
    ("rack", "preferred"), [("a", -1), ("b", 3), ("c", 4), ("d", -1), ("", -1)]
)
def test_a_reader_is_sent_to_the_most_advanced_replica_of_its_rack(
    tmp_path: Path, rack: str, preferred: int
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench)
        for _ in range(3):
            bench.append(batch())
        ack(bench, broker2=2, broker3=3, broker4=1)

        is_sent = preferred >= 0
        data = data_of(ask(bench, 1, rack=rack, max_wait_ms=60_000 if is_sent else 0))

        assert (data.error_code, data.preferred_read_replica) == (0, preferred)
        assert data.high_watermark == 1
        assert data.records == b""

    run(tmp_path, scenario, is_rack_aware=True)


def test_a_reader_is_not_sent_to_where_it_would_have_to_wait(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench, isr=(1, 2))
        bench.append(batch())
        bench.append(batch())
        ack(bench, broker2=1, broker3=2, broker4=2)
        assert data_of(ask(bench, 2, rack="b")).preferred_read_replica == -1, "2 is behind"
        assert data_of(ask(bench, 1, rack="b")).preferred_read_replica == 2, "3 is out of sync"
        assert data_of(ask(bench, 1, rack="c")).preferred_read_replica == -1
        assert data_of(ask(bench, 1, rack="b", version=10)).preferred_read_replica == -1

    run(tmp_path, scenario, is_rack_aware=True)


def test_without_a_rack_aware_selector_the_leader_serves_everybody(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench)
        ack(bench, broker2=0, broker3=0, broker4=0)
        assert data_of(ask(bench, 0, rack="b")).preferred_read_replica == -1

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("name", "is_aware"),
    [
        (None, False),
        ("", False),
        ("org.apache.kafka.common.replica.LeaderSelector", False),
        ("org.apache.kafka.common.replica.RackAwareReplicaSelector", True),
    ],
)
def test_kafkas_selectors_are_known_by_name(name: str | None, is_aware: bool) -> None:
    assert is_rack_aware(name) is is_aware


def test_another_selector_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"com\.example\.Nearest"):
        is_rack_aware("com.example.Nearest")


def test_a_follower_serves_what_it_knows_to_be_committed(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a"]))
        follow(bench)
        data = data_of(ask(bench, 0, version=11, leader_epoch=1))
        assert (data.error_code, data.high_watermark) == (0, 1)
        assert len(data.records or b"") == len(batch([b"a"]))
        below = data_of(ask(bench, -1, version=11))
        above = data_of(ask(bench, 2, version=11, leader_epoch=1))
        assert below.error_code == above.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    run(tmp_path, scenario)


def test_a_waiting_reader_of_a_follower_is_told_of_a_new_high_watermark(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench)
        bench.append(batch([b"a"]))
        image = bench.view.partition(TOPIC, 0)
        assert image is not None
        bench.partition().follow(image._replace(leader=2, leader_epoch=1))
        reply = ask(bench, 0, max_wait_ms=60_000)
        assert isinstance(reply, Deferred)
        answers = collect(reply)
        assert answers == []

        bench.partition().show_up_to(1)

        assert len(data_of(answers[0]).records or b"") == len(batch([b"a"]))

    run(tmp_path, scenario)


@pytest.mark.parametrize("version", [4, 10])
def test_a_follower_does_not_serve_those_who_may_not_be_sent_to_it(
    tmp_path: Path, version: int
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        follow(bench)
        data = data_of(ask(bench, version=version))
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert data.current_leader.leader_id == -1

    run(tmp_path, scenario)


@pytest.mark.parametrize(("version", "is_named"), [(15, False), (16, True), (18, True)])
def test_an_old_epoch_is_answered_with_the_leader_of_the_new_one(
    tmp_path: Path, version: int, is_named: bool
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        follow(bench, leader=3, leader_epoch=7)
        reply = ask(bench, version=version, leader_epoch=6)
        data = data_of(reply)
        assert isinstance(reply, FetchResponse)
        assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
        hint = (data.current_leader.leader_id, data.current_leader.leader_epoch)
        assert hint == ((3, 7) if is_named else (-1, -1))
        assert [it.node_id for it in reply.node_endpoints] == ([3] if is_named else [])
        unknown = data_of(ask(bench, version=version, leader_epoch=8))
        assert unknown.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert unknown.current_leader.leader_id == -1

    run(tmp_path, scenario)


def test_a_partition_kept_elsewhere_is_hinted_at_from_the_image(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        brokers = [broker(1), broker(2, "other", 9093, "b")]
        bench.view.image = cluster_view([*brokers, *topic(TOPIC, TOPIC_ID, [(2,)])]).image
        bench.partitions.remove(TOPIC, 0)
        reply = ask(bench)
        data = data_of(reply)
        assert isinstance(reply, FetchResponse)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 0)
        (node,) = reply.node_endpoints
        assert (node.node_id, node.host, node.port, node.rack) == (2, "other", 9093, "b")

    run(tmp_path, scenario)


def test_a_new_leader_waits_with_a_reader_who_is_ahead_of_its_high_watermark(
    tmp_path: Path,
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench, isr=(1, 2))
        for _ in range(2):
            bench.append(batch())
        assert bench.partition().high_watermark == 0
        spread(bench, isr=(1, 2), leader_epoch=1)

        assert data_of(ask(bench, 2)).error_code == ErrorCode.OFFSET_NOT_AVAILABLE
        assert data_of(ask(bench, 0)).error_code == 0
        reply = ask(bench, 1, max_wait_ms=60_000)
        assert isinstance(reply, Deferred)
        answers = collect(reply)
        ack(bench, broker2=2)

        assert data_of(answers[0]).high_watermark == 2
        assert len(data_of(answers[0]).records or b"") == len(batch())

    run(tmp_path, scenario)


def test_more_is_not_waited_for_than_may_be_answered(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([bytes(2_000)]))
        data = data_of(ask(bench, max_wait_ms=60_000, min_bytes=MANY))
        assert len(data.records or b"") > 1_000

    run(tmp_path, scenario, response_bytes_max=1_000)


@pytest.mark.parametrize(
    ("version", "error"), [(9, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (10, ErrorCode.NONE)]
)
def test_old_clients_get_nothing_of_a_zstd_topic(
    tmp_path: Path, version: int, error: ErrorCode
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        assert data_of(ask(bench, version=version)).error_code == error

    run(tmp_path, scenario, config=LogConfig(compression_type="zstd"))


@pytest.mark.parametrize(
    ("version", "error"),
    [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)],
)
def test_old_clients_are_not_told_of_storage(
    tmp_path: Path, version: int, error: ErrorCode
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().log.go_offline("gone")
        assert data_of(ask(bench, version=version)).error_code == error

    run(tmp_path, scenario)


def test_an_offset_within_a_batch_is_answered_with_that_batch(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a", b"b", b"c"]))
        bench.append(batch([b"d"]))
        data = data_of(ask(bench, 1))
        assert len(data.records or b"") == len(batch([b"a", b"b", b"c"])) + len(batch([b"d"]))

    run(tmp_path, scenario)


def test_nobody_is_sent_to_a_replica_for_what_is_deleted(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        spread(bench)
        bench.append(batch([b"0", b"1"]))
        ack(bench, broker2=2, broker3=2, broker4=2)
        bench.partition().on_log_start(2, 1)
        bench.partition().on_log_start(3, 1)

        assert data_of(ask(bench, 0, rack="b")).preferred_read_replica == -1
        assert data_of(ask(bench, 1, rack="b")).preferred_read_replica in (2, 3)
        assert data_of(ask(bench, 0, rack="c")).preferred_read_replica == 4

        bench.partition().log.advance_log_start(1)
        assert data_of(ask(bench, 0, rack="c")).error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    run(tmp_path, scenario, is_rack_aware=True)
