"""InitProducerId (key 22), served v0-v5.

v2 flexible; v3 the producer id and epoch that a client wants to go on with; v4, v5 new errors.
Only for idempotent producers: each call gets a fresh producer id with epoch 0, whatever it had
before.

Missing: transactional ids are answered with COORDINATOR_NOT_AVAILABLE, which clients retry until
their own time-out; FindCoordinator is not served yet, so that most say at once that transactions
are not supported. v6 (two-phase commit) is not announced by Kafka either.

Ids come from a random block, not from 0: logs outlive the process, and in them an id that was
handed out before must not meet its namesake's sequence numbers. The quorum will hand out blocks
instead.
"""

from typing import Final

from barnabas_core.ports import Rng
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse

_BLOCK_BITS: Final = 20
_BLOCK_COUNT: Final = 1 << 42  # ids stay well below 2**63


class InitProducerIdHandler:
    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._next_id = 0
        self._block_end = 0

    def handle(
        self, request: InitProducerIdRequest, context: RequestContext
    ) -> InitProducerIdResponse:
        if request.transactional_id is None:
            return InitProducerIdResponse(producer_id=self._take_id(), producer_epoch=0)
        if request.transactional_id == "":
            return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
        return InitProducerIdResponse(
            error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1
        )

    def _take_id(self) -> int:
        if self._next_id == self._block_end:
            self._next_id = self._rng.randrange(_BLOCK_COUNT) << _BLOCK_BITS
            self._block_end = self._next_id + (1 << _BLOCK_BITS)
        self._next_id += 1
        return self._next_id - 1
