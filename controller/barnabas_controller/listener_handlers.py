"""The CONTROLLER listener: administrators talk Kafka's protocol to a controller (KIP-919).

It serves the client apis of Kafka's controller list, none of those that nodes say to each other:
our nodes have links for that. A controller that is not active answers NOT_CONTROLLER, upon which
admin clients ask which one is.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from barnabas_controller.managers.view import Context
from barnabas_controller.requests import Requests
from barnabas_core.ports.link import CallFailed, LinkFull, NotActive
from barnabas_core.server.dispatch import Handler, RequestContext
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

ANONYMOUS = "User:ANONYMOUS"


def listener_handlers(requests: Requests, find_leader: Callable[[], int | None]) -> list[Handler]:
    return [
        Handler(key, partial(_handle, requests, find_leader, key))
        for key in requests.keys
        if "controller" in API_BY_KEY[key].listeners and not requests.is_cluster_action(key)
    ]


def _handle(
    requests: Requests,
    find_leader: Callable[[], int | None],
    key: ApiKey,
    request: Any,  # noqa: ANN401 - of the class that the key stands for
    context: RequestContext,
) -> Awaitable[Message]:
    return _answer(requests, find_leader, key, request, _asker(context))


async def _answer(
    requests: Requests,
    find_leader: Callable[[], int | None],
    key: ApiKey,
    request: Message,
    asker: Context,
) -> Message:
    try:
        return await requests.handle(key, request, asker)
    except (NotActive, CallFailed):
        # Of the second nobody knows whether it was done; Kafka's answer is the same.
        leader_id = find_leader()
        error = ErrorCode.NOT_CONTROLLER
        known = "not known" if leader_id is None else f"node {leader_id}"
        reason = f"The active controller is {known}."
    except LinkFull as full:
        error, reason = ErrorCode.REQUEST_TIMED_OUT, str(full)
    # Loaded when it is first needed: most never are.
    from barnabas_core.server.error_response import error_response  # noqa: PLC0415

    return error_response(key, request, error, reason)


def _asker(context: RequestContext) -> Context:
    return Context(context.api_version, ANONYMOUS, context.peer.host, context.client_id or "")
