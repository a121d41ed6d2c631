"""Every controller makes itself known in the metadata, through whichever is active (KIP-919).

Admin clients learn from there where controllers listen, and UpdateFeatures what each supports. Done
once per start: the incarnation id tells whether the registration in the image is this process's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from barnabas_controller.engine import Engine
from barnabas_core.config.listener import SECURITY_PROTOCOLS
from barnabas_core.config.listener import Listener as BoundListener
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.metadata.feature import is_record_supported
from barnabas_core.metadata.node_features import local_features
from barnabas_core.ports.link import Call, LinkError
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.controller_registration_request import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas_core.wire.messages.controller_registration_response import (
    ControllerRegistrationResponse,
)

_CHECK_INTERVAL_MS: Final = 500
_CALL_TIMEOUT_MS: Final = 5_000


def registration_request(
    node_id: int, incarnation_id: bytes, listeners: Sequence[BoundListener]
) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=node_id,
        incarnation_id=incarnation_id,
        listeners=[
            Listener(at.name, at.host, at.port, SECURITY_PROTOCOLS.index(at.security_protocol))
            for at in listeners
        ],
        features=[Feature(*supported) for supported in local_features()],
    )


@dataclass(frozen=True, slots=True)
class Registrar:
    engine: Engine
    client: ControllerClient
    request: ControllerRegistrationRequest
    log: EventLog

    async def run(self) -> None:
        while not self._is_known():
            if is_record_supported("RegisterControllerRecord", self._level()):
                await self._register()
            await asyncio.sleep(_CHECK_INTERVAL_MS / 1000)
        self.log.info("registered", controller=self.request.controller_id)

    def _level(self) -> int:
        return self.engine.committed.metadata_level

    def _is_known(self) -> bool:
        known = self.engine.committed.cluster.controllers.get(self.request.controller_id)
        return known is not None and known.incarnation_id == self.request.incarnation_id

    async def _register(self) -> None:
        info = API_BY_KEY[ApiKey.CONTROLLER_REGISTRATION]
        version = info.max_version
        call = Call(info.key, version, encode(self.request, version))
        try:
            body = await self.client.call(call, _CALL_TIMEOUT_MS, is_idempotent=True)
        except LinkError as error:
            self.log.debug("registration not yet answered", reason=str(error))
            return
        response = decode(ControllerRegistrationResponse, version, bytes(body))
        if response.error_code != ErrorCode.NONE:
            self.log.warning(
                "registration refused",
                error=ErrorCode(response.error_code).name,
                reason=response.error_message,
            )
