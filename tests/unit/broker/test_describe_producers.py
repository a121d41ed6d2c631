"""DescribeProducers, from the typed request to the typed answer."""

from pathlib import Path

from barnabas_broker.handlers.describe_producers import DescribeProducersHandler
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from barnabas_core.wire.messages.describe_producers_response import PartitionResponse
from tests.support.broker_bench import TOPIC, BrokerBench, batch, context, run


def ask(bench: BrokerBench, index: int = 0, topic: str = TOPIC) -> PartitionResponse:
    handler = DescribeProducersHandler(bench.partitions, bench.view)
    request = DescribeProducersRequest([TopicRequest(topic, [index])])
    (answered,) = handler.handle(request, context(0)).topics
    assert answered.name == topic
    return answered.partitions[0]


def test_producers_are_described_by_their_last_batch(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        now_ms = bench.clock.now_ms()
        for sequence in (0, 1):
            bench.append(
                batch(producer_id=17, producer_epoch=2, base_sequence=sequence, timestamp_ms=now_ms)
            )

        answer = ask(bench)

        assert answer.error_code == 0
        (producer,) = answer.active_producers
        assert (producer.producer_id, producer.producer_epoch) == (17, 2)
        assert (producer.last_sequence, producer.last_timestamp) == (1, now_ms)
        assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)

    run(tmp_path, scenario)


def test_an_ongoing_transaction_tells_where_it_began(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch())
        bench.append(
            batch(producer_id=17, producer_epoch=0, base_sequence=0, is_transactional=True)
        )

        (producer,) = ask(bench).active_producers

        assert producer.current_txn_start_offset == 1

    run(tmp_path, scenario)


def test_a_follower_answers_too(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().resign()

        assert ask(bench).error_code == 0

    run(tmp_path, scenario)


def test_what_is_not_here_has_an_error_that_tells_why(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        assert ask(bench, 9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert ask(bench, topic="unknown").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        refused = ask(bench, topic="no topic")
        assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert refused.error_message is not None
        bench.partition().log.go_offline("failed")
        assert ask(bench).error_code == ErrorCode.KAFKA_STORAGE_ERROR

    run(tmp_path, scenario)
