"""InitProducerId (key 22), served v0-v5.

v2 flexible; v3 the producer id and epoch that a client wants to go on with; v4, v5 new errors.
Only for idempotent producers: each call gets a fresh producer id with epoch 0, whatever it had
before.

Missing: transactional ids are answered with COORDINATOR_NOT_AVAILABLE, which clients retry until
their own time-out; FindCoordinator is not served yet, so that most say at once that transactions
are not supported. v6 (two-phase commit) is not announced by Kafka either.
"""

from barnabas_broker.producer_ids import NoProducerId, ProducerIds
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse


class InitProducerIdHandler:
    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids

    async def handle(
        self, request: InitProducerIdRequest, context: RequestContext
    ) -> InitProducerIdResponse:
        if request.transactional_id is None:
            return await self._give_id()
        if request.transactional_id == "":
            return _failed(ErrorCode.INVALID_REQUEST)
        return _failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def _give_id(self) -> InitProducerIdResponse:
        try:
            producer_id = await self._producer_ids.take()
        except NoProducerId:
            # Clients take it for a coordinator that is still loading, and ask again.
            return _failed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _failed(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_epoch=-1)
