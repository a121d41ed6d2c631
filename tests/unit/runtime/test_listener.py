"""A listening socket with the options that Kafka's properties give it."""

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvloop

from barnabas_core.config.error import ConfigError
from barnabas_core.runtime.listener import SocketOptions, SystemListener

# Linux doubles what it is asked for, to have room for its own book-keeping.
WANTED, GRANTED = 50_000, 100_000


class Seen(asyncio.Protocol):
    def __init__(self, connected: asyncio.Future[tuple[int, int]]) -> None:
        self._connected = connected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        accepted = transport.get_extra_info("socket")
        sizes = (
            accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        )
        self._connected.set_result(sizes)
        transport.close()


async def accepted_buffers(options: SocketOptions | None, *, reserve: bool) -> tuple[int, int]:
    """(receive, send) bytes of a connection that a listener accepts."""
    loop = asyncio.get_running_loop()
    connected: asyncio.Future[tuple[int, int]] = loop.create_future()
    listener = SystemListener(options)
    port = 0
    if reserve:
        _, port = await listener.reserve("127.0.0.1", 0)
    address = await listener.listen("127.0.0.1", port, lambda: Seen(connected))
    client = socket.create_connection(address, timeout=30)
    try:
        async with asyncio.timeout(30):
            return await connected
    finally:
        client.close()
        await listener.close()


@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop])
@pytest.mark.parametrize("reserve", [False, True])
def test_connections_have_the_buffers_that_were_asked_for(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    reserve: bool,
) -> None:
    options = SocketOptions.from_broker(
        {"socket.receive.buffer.bytes": str(WANTED), "socket.send.buffer.bytes": str(WANTED)}
    )
    with asyncio.Runner(loop_factory=new_loop) as runner:
        sizes = runner.run(accepted_buffers(options, reserve=reserve))
        free = runner.run(accepted_buffers(None, reserve=reserve))

    assert sizes == (GRANTED, GRANTED)
    assert free != sizes


def test_what_is_not_set_is_the_systems_business() -> None:
    assert SocketOptions.from_broker({}) == SocketOptions()
    assert SocketOptions.from_broker({"socket.receive.buffer.bytes": "-1"}) == SocketOptions()


def test_the_backlog_is_kafkas_property() -> None:
    assert SocketOptions.from_broker({"socket.listen.backlog.size": "7"}).backlog == 7
    with pytest.raises(ConfigError, match=r"socket\.listen\.backlog\.size"):
        SocketOptions.from_broker({"socket.listen.backlog.size": "0"})


def test_the_backlog_reaches_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = socket.socket.listen

    def listen(self: socket.socket, backlog: int = 0) -> None:
        asked.append(backlog)
        real(self, backlog)

    monkeypatch.setattr(socket.socket, "listen", listen)
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(accepted_buffers(SocketOptions(backlog=7), reserve=False))

    assert 7 in asked
