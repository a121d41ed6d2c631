"""Worker processes are started while gRPC is at work in the same process, as brokers do it."""

import asyncio

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import uvloop

from barnabas_core.runtime.executor import SystemExecutor

WORKERS = 40
CALLERS = 8


def test_workers_come_to_life_beside_busy_links() -> None:
    """Forked the plain way, most runs of this lose one of them before it has begun."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outputs = runner.run(run())

    assert all(b"Beautiful is better than ugly" in output for output in outputs)


async def run() -> list[bytes]:
    server, port = await echo_server()
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    callers = [asyncio.ensure_future(call_on(channel)) for _ in range(CALLERS)]
    executor = SystemExecutor(worker_count=2)
    try:
        return await asyncio.gather(*(executor.in_worker("this", []) for _ in range(WORKERS)))
    finally:
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        await channel.close()
        await server.stop(None)
        executor.close()


async def echo_server() -> tuple[grpc.aio.Server, int]:
    async def echo(request: bytes, context: object) -> bytes:
        return request

    server = grpc.aio.server()
    methods = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("tests", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port


async def call_on(channel: grpc.aio.Channel) -> None:
    call = channel.unary_unary("/tests/Echo")
    while True:
        await call(bytes(1_000))
