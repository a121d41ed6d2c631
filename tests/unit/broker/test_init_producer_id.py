"""InitProducerId, from the typed request to the typed answer."""

import asyncio

import pytest

from barnabas_broker.handlers.init_producer_id import InitProducerIdHandler
from barnabas_broker.producer_ids import ProducerIds
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address, Call, Caller, Identity, Loss, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from barnabas_core.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from tests.support.broker_bench import context

ADDRESS = Address("controller", 1)


class Controller:
    """Gives blocks of two, after the errors it was told to give."""

    def __init__(self, *errors: ErrorCode) -> None:
        self.errors = list(errors)
        self.asked: list[tuple[int, int]] = []

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        request = decode(AllocateProducerIdsRequest, call.api_version, bytes(call.body))
        self.asked.append((request.broker_id, request.broker_epoch))
        if self.errors:
            answer = AllocateProducerIdsResponse(error_code=self.errors.pop(0))
        else:
            start = 1000 * len(self.asked)
            answer = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=2)
        return encode(answer, call.api_version)

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        pass


def ask(controller: Controller, *requests: InitProducerIdRequest) -> list[InitProducerIdResponse]:
    async def scenario() -> list[InitProducerIdResponse]:
        clock, log = SystemClock(), EventLog(level="error")
        links = LocalLinks(LocalNetwork(log), Identity("c", 7, "broker"), clock, log)
        server = await links.serve(ADDRESS, {Purpose.MEMBERSHIP: controller})
        client = ControllerClient(links, [ADDRESS], Purpose.MEMBERSHIP, clock)
        handler = InitProducerIdHandler(ProducerIds(client, 7, lambda: 42))
        try:
            return list(
                await asyncio.gather(*[handler.handle(each, context(4)) for each in requests])
            )
        finally:
            await client.close()
            await server.close()

    return asyncio.run(scenario())


def test_ids_come_from_the_blocks_that_the_controller_gives() -> None:
    controller = Controller()

    answers = ask(controller, *[InitProducerIdRequest(None)] * 5)

    ids = [answer.producer_id for answer in answers]
    assert sorted(ids) == [1000, 1001, 2000, 2001, 3000]
    assert {(answer.error_code, answer.producer_epoch) for answer in answers} == {(0, 0)}
    assert controller.asked == [(7, 42)] * 3


def test_a_controller_that_gives_none_is_a_reason_to_ask_again() -> None:
    (answer,) = ask(Controller(ErrorCode.STALE_BROKER_EPOCH), InitProducerIdRequest(None))

    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answer.producer_id == -1


@pytest.mark.parametrize(
    ("transactional_id", "error"),
    [("", ErrorCode.INVALID_REQUEST), ("mine", ErrorCode.COORDINATOR_NOT_AVAILABLE)],
)
def test_there_are_no_transactions_yet(transactional_id: str, error: ErrorCode) -> None:
    (answer,) = ask(Controller(), InitProducerIdRequest(transactional_id))

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error, -1, -1)
