"""AllocateProducerIds (key 67), decided v0: a broker gets the next block of ids, for good."""

from typing import Final

from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from barnabas_core.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord

BLOCK_SIZE: Final = 1000
_PRODUCER_ID_MAX: Final = 2**63 - 1


def decide_allocate_producer_ids(
    view: View, request: AllocateProducerIdsRequest, context: Context
) -> Result[AllocateProducerIdsResponse]:
    broker = view.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return _refused(ErrorCode.STALE_BROKER_EPOCH)
    first = view.image.next_producer_id
    if first > _PRODUCER_ID_MAX - BLOCK_SIZE:
        return _refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    record = ProducerIdsRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, next_producer_id=first + BLOCK_SIZE
    )
    answer = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Result((record,), answer)


def _refused(code: ErrorCode) -> Result[AllocateProducerIdsResponse]:
    return Result((), AllocateProducerIdsResponse(error_code=code))
