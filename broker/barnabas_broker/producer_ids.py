"""Producer ids that no other broker hands out: blocks of them, from the controller (KIP-730)."""

import asyncio
from collections.abc import Callable
from typing import Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports.link import Call, LinkError
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from barnabas_core.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse

_TIMEOUT_MS: Final = 5_000


class NoProducerId(Exception):
    """The controller gave none just now; to be tried again."""


class ProducerIds:
    def __init__(
        self, client: ControllerClient, broker_id: int, broker_epoch: Callable[[], int]
    ) -> None:
        self._client = client
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._allocating = asyncio.Lock()
        self._next = 0
        self._end = 0

    async def take(self) -> int:
        """`NoProducerId` if no controller gives a block."""
        while self._next == self._end:
            async with self._allocating:
                if self._next == self._end:
                    await self._allocate()
        self._next += 1
        return self._next - 1

    async def _allocate(self) -> None:
        version = API_BY_KEY[ApiKey.ALLOCATE_PRODUCER_IDS].max_version
        request = AllocateProducerIdsRequest(self._broker_id, self._broker_epoch())
        call = Call(ApiKey.ALLOCATE_PRODUCER_IDS, version, encode(request, version))
        try:
            # A block that was given and not heard of is lost, which does no harm.
            body = await self._client.call(call, _TIMEOUT_MS, is_idempotent=True)
        except LinkError as error:
            raise NoProducerId(str(error)) from error
        response = decode(AllocateProducerIdsResponse, version, bytes(body))
        if response.error_code:
            raise NoProducerId(ErrorCode(response.error_code).name)
        self._next = response.producer_id_start
        self._end = self._next + response.producer_id_len
