"""FindCoordinator (key 10), served v0-v6.

v1 key type; v3 flexible; v4 several keys at once; v5, v6 for transactions of version 2 and share
groups. Clients are sent to the broker that leads the shard: it speaks for the coordinator. The
topic that holds the shards is made when it is first asked for.

Missing: transactions and share groups have no coordinator yet, and their keys are answered with
COORDINATOR_NOT_AVAILABLE.
"""

from typing import Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.shards.internal_topic import InternalTopic
from barnabas_broker.shards.shard_hash import shard_of
from barnabas_broker.shards.shards import Shards
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import (
    Coordinator,
    FindCoordinatorResponse,
)

_GROUP: Final = 0
_KNOWN: Final = (0, 1, 2)
_MANY_KEYS_VERSION: Final = 4
_NOBODY: Final = -1


class FindCoordinatorHandler:
    def __init__(self, shards: Shards, topic: InternalTopic, view: ClusterView) -> None:
        self._shards = shards
        self._topic = topic
        self._view = view

    async def handle(
        self, request: FindCoordinatorRequest, context: RequestContext
    ) -> FindCoordinatorResponse:
        is_many = context.api_version >= _MANY_KEYS_VERSION
        keys = request.coordinator_keys if is_many else [request.key]
        found = [await self._find(request.key_type, key, context) for key in keys]
        if is_many:
            return FindCoordinatorResponse(coordinators=found)
        one = found[0]
        return FindCoordinatorResponse(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )

    async def _find(self, key_type: int, key: str, context: RequestContext) -> Coordinator:
        if key_type not in _KNOWN:
            return _failed(key, ErrorCode.INVALID_REQUEST, f"unknown key type {key_type}")
        if key_type != _GROUP:
            reason = "there is no coordinator of this kind yet"
            return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        if not self._shards.count and not await self._topic.create():
            reason = f"{self._shards.topic} cannot be created at present"
            return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        shard = shard_of(key, max(self._shards.count, 1))
        partition = self._view.partition(self._shards.topic, shard)
        leader = _NOBODY if partition is None else partition.leader
        if leader == self._view.node_id:
            await self._shards.wait_open(shard)
        node = self._view.node(leader, context.peer.listener)
        if node is None:
            return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "the shard has no leader")
        return Coordinator(key, node.node_id, node.host, node.port, error_message=None)


def _failed(key: str, error: ErrorCode, reason: str) -> Coordinator:
    return Coordinator(key, _NOBODY, "", _NOBODY, error, reason)
