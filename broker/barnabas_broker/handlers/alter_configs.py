"""AlterConfigs (key 33), served v0-v2: the old way, which replaces all configs of a resource.

v1 nothing new; v2 flexible. The controller carries it out. Refused here without asking it: a
resource that is there twice, a resource of no known type, another broker's configs. Loggers cannot
be altered this way, as in Kafka.
"""

from barnabas_broker.config_alteration import local_outcomes, merged
from barnabas_broker.handlers.incremental_alter_configs import Forward
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.messages.alter_configs_request import AlterConfigsRequest
from barnabas_core.wire.messages.alter_configs_response import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


class AlterConfigsHandler:
    def __init__(self, node_id: int, forwarder: Forward) -> None:
        self._node_id = node_id
        self._forwarder = forwarder

    async def handle(
        self, request: AlterConfigsRequest, context: RequestContext
    ) -> AlterConfigsResponse:
        resources = request.resources
        outcomes = local_outcomes(self._node_id, resources, may_have_loggers=False)
        left = [asked for position, asked in enumerate(resources) if position not in outcomes]
        forwarded = AlterConfigsResponse()
        if left:
            rest = AlterConfigsRequest(left, request.validate_only)
            answer = await self._forwarder.forward(ApiKey.ALTER_CONFIGS, rest, context)
            assert isinstance(answer, AlterConfigsResponse)
            forwarded = answer
        answers = merged(resources, outcomes, forwarded.responses, AlterConfigsResourceResponse)
        return AlterConfigsResponse(forwarded.throttle_time_ms, answers)
