"""Topics that come to be by being asked for (`auto.create.topics.enable`)."""

import asyncio
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.forwarding import Forwarder
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_core.server.dispatch import Peer, RequestContext
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse

_TIMEOUT_MS: Final = 5_000
_APPEAR_S: Final = 2.0
_DEFAULT: Final = -1


class TopicCreation:
    def __init__(self, forwarder: Forwarder, applier: MetadataApplier, view: ClusterView) -> None:
        self._forwarder = forwarder
        self._applier = applier
        self._view = view

    async def create(self, names: list[str]) -> dict[str, ErrorCode]:
        """Make them with the defaults of the cluster; the error of each that cannot be made.

        Those that were made are known here when this returns, unless the feed is slow: then the
        client is to ask again.
        """
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name, _DEFAULT, _DEFAULT) for name in names],
            timeout_ms=_TIMEOUT_MS,
        )
        version = API_BY_KEY[ApiKey.CREATE_TOPICS].max_version
        context = RequestContext(version, 0, None, Peer("", 0, ""))
        response = await self._forwarder.forward(ApiKey.CREATE_TOPICS, request, context)
        assert isinstance(response, CreateTopicsResponse)
        errors = {topic.name: _shown(ErrorCode(topic.error_code)) for topic in response.topics}
        made = [name for name, error in errors.items() if error is ErrorCode.NONE]
        try:
            async with asyncio.timeout(_APPEAR_S):
                await self._applier.wait_until(
                    lambda: all(self._view.topic(name) is not None for name in made)
                )
        except TimeoutError:
            errors |= dict.fromkeys(made, ErrorCode.LEADER_NOT_AVAILABLE)
        return errors


def _shown(error: ErrorCode) -> ErrorCode:
    if error is ErrorCode.TOPIC_ALREADY_EXISTS:
        return ErrorCode.NONE  # somebody else was faster
    if error in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT):
        return ErrorCode.LEADER_NOT_AVAILABLE
    return error
