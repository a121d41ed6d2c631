"""IncrementalAlterConfigs (key 44), served v0-v1.

v1 flexible. Loggers (BROKER_LOGGER) are altered here, all other resources by the controller; a
request may hold both, and the answer has them in its order. Refused here without asking anybody:
a resource that is there twice, a resource of no known type, another broker's configs.
"""

from typing import Protocol

from barnabas_broker.config_alteration import local_outcomes, merged
from barnabas_broker.loggers import Loggers, Operation, Outcome
from barnabas_core.metadata.keyed_image import BROKER_LOGGER_RESOURCE
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.schema import Message


class Forward(Protocol):
    async def forward(self, key: ApiKey, request: Message, context: RequestContext) -> Message: ...


class IncrementalAlterConfigsHandler:
    def __init__(self, node_id: int, loggers: Loggers, forwarder: Forward) -> None:
        self._node_id = node_id
        self._loggers = loggers
        self._forwarder = forwarder

    async def handle(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> IncrementalAlterConfigsResponse:
        resources = request.resources
        outcomes = local_outcomes(self._node_id, resources, may_have_loggers=True)
        for position, asked in enumerate(resources):
            if position not in outcomes and asked.resource_type == BROKER_LOGGER_RESOURCE:
                outcomes[position] = self._alter_loggers(asked, validate_only=request.validate_only)
        left = [asked for position, asked in enumerate(resources) if position not in outcomes]
        if left:
            rest = IncrementalAlterConfigsRequest(left, request.validate_only)
            forwarded = await self._forward(rest, context)
        else:
            forwarded = IncrementalAlterConfigsResponse()
        answers = merged(resources, outcomes, forwarded.responses, AlterConfigsResourceResponse)
        return IncrementalAlterConfigsResponse(forwarded.throttle_time_ms, answers)

    def _alter_loggers(self, asked: AlterConfigsResource, *, validate_only: bool) -> Outcome:
        names = [config.name for config in asked.configs]
        if len(set(names)) < len(names):
            return Outcome(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        nulls = [
            config.name
            for config in asked.configs
            if config.value is None and config.config_operation != Operation.DELETE
        ]
        if nulls:
            message = f"Null value not supported for : {', '.join(nulls)}"
            return Outcome(ErrorCode.INVALID_REQUEST, message)
        return self._loggers.alter(asked.resource_name, asked.configs, validate_only=validate_only)

    async def _forward(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> IncrementalAlterConfigsResponse:
        key = ApiKey.INCREMENTAL_ALTER_CONFIGS
        response = await self._forwarder.forward(key, request, context)
        assert isinstance(response, IncrementalAlterConfigsResponse)
        return response
