"""One end of a gRPC link in a process of its own, for tests that stop or kill it.

usage: python -m tests.support.link_process serve PORT | call ADDRESS
"""

import asyncio
import sys

from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.ports.link import Address, Identity, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from tests.support.link_lab import Servant, Witness, echo

# Pings are more frequent than usual, so that a test need not wait for seconds.
CONFIG = LinkConfig(tick_ms=100)


def links(node_id: int) -> GrpcLinks:
    identity = Identity("cluster", node_id, "broker")
    return GrpcLinks(identity, SystemClock(), EventLog(), config=CONFIG)


async def serve(port: int) -> None:
    server = await links(1).serve(Address("127.0.0.1", port), {Purpose.FORWARD: Servant()})
    print(f"serving: {server.address.port}", flush=True)
    await asyncio.Event().wait()


async def call(port: int) -> None:
    link = links(3).open(Purpose.FORWARD, Address("127.0.0.1", port), Witness().events())
    await link.call(echo(), 30_000)
    print("connected: yes", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run({"serve": serve, "call": call}[sys.argv[1]](int(sys.argv[2])))
