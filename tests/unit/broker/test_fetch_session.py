"""Fetch sessions (KIP-227), from typed requests to typed answers."""

from pathlib import Path

import pytest

from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition
from tests.support.broker_bench import (
    BrokerBench,
    batch,
    collect,
    run,
    value_of,
)
from tests.support.session_client import MANY, SessionClient, sizes

LONG_MS = 60_000


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_after_the_first_answer_only_what_changes_is_answered(tmp_path: Path, version: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench, version)
        size = len(batch())
        bench.append(batch(), 1)

        assert await client.fetch({0: 0, 1: 0, 2: 0}) == {0: 0, 1: size, 2: 0}
        assert client.session_id > 0
        assert await client.fetch({1: 1}) == {}
        bench.append(batch(), 2)
        assert await client.fetch() == {2: size}
        assert await client.fetch() == {2: size}, "as long as the client does not move on"
        assert await client.fetch({2: 1}) == {}

    run(tmp_path, scenario, partition_count=3)


def test_a_poll_waits_and_is_woken_by_any_partition_of_its_session(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch(dict.fromkeys(range(10), 0))
        client.fields = {"max_wait_ms": LONG_MS, "min_bytes": 2 * len(batch())}

        waiting = client.begin(client.request({}))
        assert isinstance(waiting, Deferred)
        answers = collect(waiting)
        bench.append(batch(), 8)
        assert answers == []
        bench.append(batch(), 3)

        assert sizes(answers[0]) == {8: len(batch()), 3: len(batch())}
        assert len(bench.purgatory) == 0

    run(tmp_path, scenario, partition_count=10)


def test_a_poll_that_times_out_says_nothing(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        client.fields = {"max_wait_ms": 10, "min_bytes": 1}
        assert await client.fetch() == {}
        assert len(bench.purgatory) == 0

    run(tmp_path, scenario)


def test_a_client_that_goes_away_waits_no_longer_and_its_session_stays(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        client.fields = {"max_wait_ms": LONG_MS, "min_bytes": 1}
        waiting = client.begin(client.request({}))
        assert isinstance(waiting, Deferred)

        waiting.cancel()

        assert len(bench.purgatory) == 0
        bench.append(batch())
        client.epoch += 1
        assert await client.fetch() == {0: len(batch())}

    run(tmp_path, scenario)


def test_partitions_are_added_and_forgotten(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        for index in range(3):
            bench.append(batch(), index)
        size = len(batch())

        assert await client.fetch({0: 0}) == {0: size}
        assert await client.fetch({2: 0}) == {0: size, 2: size}
        assert await client.fetch({}, forgotten=[0]) == {2: size}
        bench.append(batch(), 0)
        assert await client.fetch({2: 1}) == {}

    run(tmp_path, scenario, partition_count=3)


def test_a_session_without_partitions_is_closed(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        assert await client.fetch({}, forgotten=[0]) == {}
        assert client.session_id == 0
        assert len(bench.fetch.sessions.cache) == 0

    run(tmp_path, scenario)


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_closes_the_session_it_names(tmp_path: Path, epoch: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        old = client.session_id
        client.epoch = epoch
        response = await client.ask(client.request({0: 0}))

        assert sizes(response) == {0: 0}
        assert (response.session_id > 0) is (epoch == 0)
        assert response.session_id != old
        assert len(bench.fetch.sessions.cache) == epoch + 1

    run(tmp_path, scenario)


def test_a_wrong_epoch_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        client.epoch = 2
        response = await client.ask(client.request({1: 0}))
        assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        assert (response.session_id, response.responses) == (0, [])

        client.epoch = 1
        bench.append(batch(), 1)
        assert await client.fetch() == {}

    run(tmp_path, scenario, partition_count=2)


def test_a_session_by_name_takes_no_topic_ids_nor_the_other_way_round(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        for version, other in ((12, 13), (13, 12)):
            client = SessionClient(bench, version)
            await client.fetch({0: 0})
            client.version = other
            response = await client.ask(client.request({}))
            assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR

    run(tmp_path, scenario)


def test_a_poll_that_its_client_did_not_wait_for_is_answered_with_an_error(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0})
        client.fields = {"max_wait_ms": 20, "min_bytes": 1}
        first = client.begin(client.request({}))
        assert isinstance(first, Deferred)
        client.epoch += 1
        assert await client.fetch() == {}

        response = await value_of(first)

        assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        assert response.session_id == client.session_id

    run(tmp_path, scenario)


def test_what_did_not_fit_comes_with_the_next_poll_and_everybody_gets_a_turn(
    tmp_path: Path,
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        size = len(batch())
        offsets = {0: 0, 1: 0, 2: 0}
        await client.fetch(offsets)
        for index in offsets:
            bench.append(batch(), index)
            bench.append(batch(), index)
        client.fields = {"max_bytes": size}

        served = [await client.fetch(max_bytes=size) for _ in range(6)]

        assert [[index for index, got in each.items() if got] for each in served] == [
            [0],
            [1],
            [2],
            [0],
            [1],
            [2],
        ]

    run(tmp_path, scenario, partition_count=3)


def test_a_closed_session_watches_nothing(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        client = SessionClient(bench)
        await client.fetch({0: 0, 1: 0})
        client.epoch = -1
        await client.ask(client.request({}))

        assert not bench.purgatory.has_watchers

    run(tmp_path, scenario, partition_count=2)


def test_a_partition_that_is_named_twice_is_answered_once(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch())
        bench.append(batch())
        client = SessionClient(bench)
        client.epoch = -1
        asked = client.request({0: 0})
        asked.topics[0].partitions.append(
            FetchPartition(0, fetch_offset=1, partition_max_bytes=MANY)
        )
        assert sizes(await client.ask(asked)) == {0: len(batch())}

    run(tmp_path, scenario)
