"""`barnabas serve FILE`: one node, as `process.roles` of its file has it."""

import asyncio
from collections.abc import Awaitable, Callable

from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.runtime.log_setup import EventLog, LogFormat
from barnabas_core.runtime.node_home import load_node
from barnabas_core.runtime.process import run_process

Serve = Callable[[NodeProperties, EventLog, asyncio.Event], Awaitable[int]]


def serve(path: str, *, log_format: LogFormat, log_level: str) -> int:
    """The exit status."""
    log = EventLog(form=log_format, level=log_level)
    properties = load_node("barnabas", path, log)
    if properties is None:
        return 1
    serve_node = _of_roles(properties)
    return run_process("barnabas", log, lambda end: serve_node(properties, log, end))


def _of_roles(properties: NodeProperties) -> Serve:
    # A node loads the roles that it has.
    if not properties.is_controller:
        from barnabas.broker_role import serve_broker_node  # noqa: PLC0415

        return serve_broker_node
    if not properties.is_broker:
        from barnabas_controller.process import serve_controller  # noqa: PLC0415

        return serve_controller
    from barnabas.combined_node import serve_combined  # noqa: PLC0415

    return serve_combined
