"""InitProducerId for idempotent producers."""

import pytest
from barnabas_broker.handlers.init_producer_id import InitProducerIdHandler
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest

from tests.support.broker_bench import context


def test_each_producer_gets_an_id_of_its_own() -> None:
    handler = InitProducerIdHandler(SeededRng(1))

    answers = [handler.handle(InitProducerIdRequest(None), context(4)) for _ in range(100)]

    assert {(it.error_code, it.producer_epoch) for it in answers} == {(0, 0)}
    assert len({it.producer_id for it in answers}) == 100
    assert all(0 <= it.producer_id < 2**63 for it in answers)


def test_another_process_hands_out_other_ids() -> None:
    request = InitProducerIdRequest(None)

    first = InitProducerIdHandler(SeededRng(1)).handle(request, context(4))
    second = InitProducerIdHandler(SeededRng(2)).handle(request, context(4))

    assert first.producer_id != second.producer_id


@pytest.mark.parametrize(
    ("transactional_id", "error"),
    [("", ErrorCode.INVALID_REQUEST), ("payments", ErrorCode.COORDINATOR_NOT_AVAILABLE)],
)
def test_transactions_are_refused(transactional_id: str, error: ErrorCode) -> None:
    request = InitProducerIdRequest(transactional_id, 60_000)

    answer = InitProducerIdHandler(SeededRng(1)).handle(request, context(4))

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error, -1, -1)
