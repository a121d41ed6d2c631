"""Requests about groups, each to the shard that the group belongs to, and the answers back.

Those about several groups are taken apart by shard and put together again, in the order of the
request; ListGroups asks every shard that this broker owns.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.shards.coordinator_errors import coordinator_error
from barnabas_broker.shards.shard_hash import shard_of
from barnabas_broker.shards.shard_owner import ShardOwner, Waiting
from barnabas_broker.shards.shards import Shards
from barnabas_core.links.shard_message import ShardRequest
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import Encoded, Handler, Reply, RequestContext
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.list_groups_response import ListGroupsResponse
from barnabas_core.wire.schema import Message

_ANONYMOUS: Final = "User:ANONYMOUS"
_MANY_GROUPS_VERSION: Final = 8

ONE_GROUP: Final = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_DELETE,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
)
"""Named in `group_id`."""


class _Many(NamedTuple):
    """An api about several groups: what the lists are called, and how an item names its group."""

    asked: str
    answered: str
    asked_group: Callable[[Any], str]
    answered_group: Callable[[Any], str]


def _itself(item: Any) -> str:  # noqa: ANN401 - a list of names
    return str(item)


def _its_group_id(item: Any) -> str:  # noqa: ANN401 - a list of structs of several apis
    return str(item.group_id)


MANY_GROUPS: Final = {
    ApiKey.OFFSET_FETCH: _Many("groups", "groups", _its_group_id, _its_group_id),
    ApiKey.DESCRIBE_GROUPS: _Many("groups", "groups", _itself, _its_group_id),
    ApiKey.DELETE_GROUPS: _Many("groups_names", "results", _itself, _its_group_id),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _Many("group_ids", "groups", _itself, _its_group_id),
}


class GroupRouter:
    def __init__(self, shards: Shards, view: ClusterView) -> None:
        self._shards = shards
        self._view = view

    @property
    def handlers(self) -> list[Handler]:
        found = [Handler(key, partial(self._one, key)) for key in ONE_GROUP]
        found += [Handler(key, partial(self._many, key)) for key in MANY_GROUPS]
        return [*found, Handler(ApiKey.LIST_GROUPS, self._list)]

    def _one(self, key: ApiKey, request: Any, context: RequestContext) -> Reply:  # noqa: ANN401
        owner = self._owner_of(request.group_id)
        if isinstance(owner, ErrorCode):
            return coordinator_error(key, context.api_version, request, owner)
        return self._pass_on(key, owner, request, context)

    def _many(self, key: ApiKey, request: Any, context: RequestContext) -> Reply:  # noqa: ANN401
        if key is ApiKey.OFFSET_FETCH and context.api_version < _MANY_GROUPS_VERSION:
            return self._one(key, request, context)
        many = MANY_GROUPS[key]
        by_shard: dict[int, list[Any]] = {}
        for item in getattr(request, many.asked):
            shard = self._shard_of(many.asked_group(item))
            by_shard.setdefault(shard, []).append(item)
        if len(by_shard) == 1:
            owner = self._owner(*by_shard)
            if isinstance(owner, ShardOwner):
                return self._pass_on(key, owner, request, context)
        return self._ask_each(key, request, by_shard, context)

    async def _ask_each(
        self,
        key: ApiKey,
        request: Any,  # noqa: ANN401
        by_shard: dict[int, list[Any]],
        context: RequestContext,
    ) -> Message:
        many = MANY_GROUPS[key]
        response: Any = API_BY_KEY[key].response()
        answers: dict[str, Any] = {}
        for shard, items in by_shard.items():
            part = replace(request, **{many.asked: items})
            answer = await self._ask(key, self._owner(shard), part, context)
            for one in getattr(answer, many.answered):
                answers[many.answered_group(one)] = one
        names = [many.asked_group(item) for item in getattr(request, many.asked)]
        setattr(response, many.answered, [answers[it] for it in names if it in answers])
        return response  # type: ignore[no-any-return]

    async def _list(self, request: Message, context: RequestContext) -> Message:
        response = ListGroupsResponse()
        for owner in self._shards:
            answer = await self._ask(ApiKey.LIST_GROUPS, owner, request, context)
            assert isinstance(answer, ListGroupsResponse)
            response.error_code = response.error_code or answer.error_code
            response.groups += answer.groups
        return response

    def _shard_of(self, group_id: str) -> int:
        return shard_of(group_id, max(self._shards.count, 1))

    def _owner_of(self, group_id: str) -> ShardOwner | ErrorCode:
        return self._owner(self._shard_of(group_id))

    def _owner(self, shard: int) -> ShardOwner | ErrorCode:
        """Or why there is none here."""
        if not self._shards.count:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._shards.owner(shard) or ErrorCode.NOT_COORDINATOR

    def _pass_on(
        self, key: ApiKey, owner: ShardOwner, request: Message, context: RequestContext
    ) -> Deferred[Message | Encoded]:
        """The client's own bytes to the coordinator, and the coordinator's to the client."""
        reply: Deferred[Message | Encoded] = Deferred()

        def done(found: bytes | ErrorCode) -> None:
            if isinstance(found, ErrorCode):
                reply.resolve(coordinator_error(key, context.api_version, request, found))
            else:
                reply.resolve(Encoded(found))

        correlation = owner.ask(self._item(key, context, context.body), Waiting(done))
        if correlation is not None:
            reply.on_cancel(partial(owner.forget, correlation))
        return reply

    async def _ask(
        self, key: ApiKey, owner: ShardOwner | ErrorCode, request: Message, context: RequestContext
    ) -> Message:
        """A request of this broker's own making, and the answer to be looked into."""
        version = context.api_version
        if isinstance(owner, ErrorCode):
            return coordinator_error(key, version, request, owner)
        answered: asyncio.Future[bytes | ErrorCode]
        answered = asyncio.get_running_loop().create_future()
        item = self._item(key, context, encode(request, version))
        correlation = owner.ask(item, Waiting(partial(_settle, answered)))
        try:
            found = await answered
        except asyncio.CancelledError:
            if correlation is not None:
                owner.forget(correlation)
            raise
        if isinstance(found, ErrorCode):
            return coordinator_error(key, version, request, found)
        return decode(API_BY_KEY[key].response, version, found)

    def _item(self, key: ApiKey, context: RequestContext, body: bytes) -> ShardRequest:
        return ShardRequest(
            0,
            0,
            key,
            context.api_version,
            self._view.image.provenance.offset,
            context.client_id or "",
            f"/{context.peer.host}",
            _ANONYMOUS,
            context.peer.listener,
            body,
        )


def _settle(answered: "asyncio.Future[bytes | ErrorCode]", found: bytes | ErrorCode) -> None:
    if not answered.done():
        answered.set_result(found)
