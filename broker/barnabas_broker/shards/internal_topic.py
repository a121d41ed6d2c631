"""The topic that holds a coordinator's shards: made when it is first needed, as Kafka makes it."""

import asyncio
from collections.abc import Mapping
from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.forwarding import Forwarder
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.runtime.log_setup import FloodLimit
from barnabas_core.server.dispatch import Peer, RequestContext
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse

GROUP_TOPIC: Final = "__consumer_offsets"
_TIMEOUT_MS: Final = 5_000
_APPEAR_S: Final = 2.0


class InternalTopic:
    def __init__(
        self,
        properties: Mapping[str, str],
        forwarder: Forwarder,
        applier: MetadataApplier,
        view: ClusterView,
        complaints: FloodLimit,
    ) -> None:
        self._properties = properties
        self._forwarder = forwarder
        self._applier = applier
        self._view = view
        self._complaints = complaints
        self._creating = asyncio.Lock()

    async def create(self) -> bool:
        """Whether it is there now."""
        async with self._creating:
            if self._view.topic(GROUP_TOPIC) is not None:
                return True
            version = API_BY_KEY[ApiKey.CREATE_TOPICS].max_version
            context = RequestContext(version, 0, None, Peer("", 0, ""))
            request = CreateTopicsRequest([group_topic(self._properties)], _TIMEOUT_MS)
            response = await self._forwarder.forward(ApiKey.CREATE_TOPICS, request, context)
            assert isinstance(response, CreateTopicsResponse)
            error = ErrorCode(response.topics[0].error_code)
            if error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                reason = response.topics[0].error_message
                self._complaints.warning("no topic for groups", error=error.name, reason=reason)
                return False
            return await self._appears()

    async def _appears(self) -> bool:
        try:
            async with asyncio.timeout(_APPEAR_S):
                await self._applier.wait_until(lambda: self._view.topic(GROUP_TOPIC) is not None)
        except TimeoutError:
            return False
        return True


def group_topic(properties: Mapping[str, str]) -> CreatableTopic:
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(number_of(properties, "offsets.topic.segment.bytes")),
    }
    return CreatableTopic(
        GROUP_TOPIC,
        number_of(properties, "offsets.topic.num.partitions"),
        number_of(properties, "offsets.topic.replication.factor"),
        configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
    )


def number_of(properties: Mapping[str, str], name: str) -> int:
    prop = definitions(Kind.BROKER)[name]
    text = properties.get(name)
    return int(str(prop.default if text is None else prop.parse(text)))
