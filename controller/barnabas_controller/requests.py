"""Requests to a controller, from whichever way they came: its listener, or a link.

    decided     by the active controller alone, on what is committed and pending
    about the quorum   DescribeQuorum, AddRaftVoter, ...: by the driver of the quorum
    read anywhere      DescribeCluster and DescribeConfigs: any controller, on what it has replayed

`NotActive` where another controller has to be asked; the request was then not carried out.
`CallFailed` where this one lost its place meanwhile: the request may yet turn out to have been.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from barnabas_controller.engine import Engine
from barnabas_controller.managers.api import Api
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.schema import Message

Answerer = Callable[[Any, Context], Awaitable[Message]]


class Requests:
    def __init__(
        self,
        engine: Engine,
        decided: Mapping[ApiKey, Api],
        answered: Mapping[ApiKey, Answerer],
    ) -> None:
        self._engine = engine
        self._decided = decided
        self._answered = answered

    @property
    def keys(self) -> list[ApiKey]:
        return sorted({*self._decided, *self._answered})

    def is_cluster_action(self, key: ApiKey) -> bool:
        """Is it for other nodes of the cluster alone?"""
        api = self._decided.get(key)
        return api is not None and api.cluster_action

    async def handle(self, key: ApiKey, request: Message, context: Context) -> Message:
        answerer = self._answered.get(key)
        if answerer is not None:
            return await answerer(request, context)
        api = self._decided[key]
        response: Message = await self._engine.submit(
            lambda view: _decide(api, view, request, context)
        )
        return response


def _decide(api: Api, view: View, request: Message, context: Context) -> Result[Message]:
    result: Result[Message] = api.decide(view, request, context)
    return result
