"""What a fetch session tells of partitions that change otherwise than by records."""

from pathlib import Path

from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import DiskError
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.error_code import ErrorCode
from tests.support.broker_bench import (
    TOPIC,
    TOPIC_ID,
    BrokerBench,
    batch,
    collect,
    run,
)
from tests.support.cluster_image import broker, cluster_view, replayed, topic
from tests.support.session_client import SessionClient

LONG_MS = 60_000


def test_a_moved_log_start_is_news(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        bench.append(batch([b"a", b"b"]))
        await client.fetch({0: 2})
        assert await client.fetch() == {}

        bench.partition().log.advance_log_start(1)
        bench.purgatory.wake(bench.partition())

        assert await client.fetch() == {0: 0}
        assert await client.fetch() == {}

    run(tmp_path, scenario)


def test_an_error_is_told_each_time_and_its_end_too(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        assert await client.fetch({0: 5}) == {0: 0}
        assert await client.fetch() == {0: 0}
        assert await client.fetch({0: 0}) == {0: 0}, "it is well again"
        assert await client.fetch() == {}

    run(tmp_path, scenario)


def test_a_partition_that_is_lost_while_a_poll_waits_is_told_at_once(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0, 1: 0})
        client.fields = {"max_wait_ms": LONG_MS, "min_bytes": 1}
        waiting = client.begin(client.request({}))
        assert isinstance(waiting, Deferred)
        answers = collect(waiting)

        bench.partitions.fail(bench.partition(1), DiskError("/disk", "gone"))

        (data,) = answers[0].responses[0].partitions
        assert (data.partition_index, data.error_code) == (1, ErrorCode.KAFKA_STORAGE_ERROR)

    run(tmp_path, scenario, partition_count=2)


def test_another_leader_is_told_with_the_next_poll(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench, version=10)
        await client.fetch({0: 0, 1: 0})
        assert await client.fetch() == {}

        image = bench.view.partition(TOPIC, 1)
        assert image is not None
        bench.partition(1).follow(image._replace(leader=2, leader_epoch=1))
        changes = topic("another", bytes(16))
        bench.view.image = replayed(changes, bench.view.image)[1]

        response = await client.ask(client.request({}))
        (data,) = response.responses[0].partitions
        assert (data.partition_index, data.error_code) == (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    run(tmp_path, scenario, partition_count=2)


def test_a_topic_that_came_back_under_another_id_is_not_the_one_asked_for(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench, version=13)
        await client.fetch({0: 0})
        other = bytes(reversed(TOPIC_ID))
        bench.view.image = cluster_view([broker(), *topic(TOPIC, other)]).image

        response = await client.ask(client.request({}))

        (data,) = response.responses[0].partitions
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(tmp_path, scenario)


def test_the_id_of_another_log_of_that_name_is_inconsistent(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        other = bytes(reversed(TOPIC_ID))
        bench.view.image = cluster_view([broker(), *topic(TOPIC, other)]).image
        client = SessionClient(bench, version=13)

        response = await client.ask(client.request({0: 0}, topic_id=other))

        (data,) = response.responses[0].partitions
        assert data.error_code == ErrorCode.INCONSISTENT_TOPIC_ID

    run(tmp_path, scenario)


def test_a_change_of_isolation_shows_what_the_other_could_not_see(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        client.fields = {"isolation_level": 1}
        open_batch = batch(producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
        size = len(open_batch)
        bench.append(open_batch)
        assert await client.fetch({0: 0}) == {0: 0}
        assert await client.fetch() == {}

        client.fields = {"isolation_level": 0}
        assert await client.fetch() == {0: size}

        client.fields = {"isolation_level": 1}
        assert await client.fetch() == {}
        marker = end_transaction_batch(True, 0, 5, 0, bench.clock.now_ms())
        bench.append(marker, 0, AppendOrigin.COORDINATOR)
        assert await client.fetch() == {0: size + len(marker)}

    run(tmp_path, scenario)
