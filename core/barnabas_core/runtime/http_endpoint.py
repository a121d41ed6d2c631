"""A small HTTP server for those who watch: GET and HEAD of a few paths, and nothing else.

One request per connection, answered with `Connection: close`. A request is bounded in size and in
time, connections are bounded in number, and a body is sent as it is made, as far as the socket
takes it. Whoever floods it or sends rubbish is closed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import TaskList

_REQUEST_BYTES_MAX: Final = 8 * 1024
_REQUEST_S_MAX: Final = 5.0
_ANSWER_S_MAX: Final = 30.0
_CONNECTION_COUNT_MAX: Final = 32
_PHRASES: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: str | AsyncIterator[str]
    content_type: str = _TEXT


Page = Callable[[], Awaitable[HttpAnswer]]


class HttpEndpoint:
    def __init__(self, pages: Mapping[str, Page], log: EventLog) -> None:
        self._pages = pages
        self._tasks = TaskList(log)
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> tuple[str, int]:
        """The address that was really bound; `OSError` when it cannot be."""
        # An empty host is every address.
        self._server = await asyncio.start_server(
            self._accept, host or None, port, limit=_REQUEST_BYTES_MAX
        )
        bound = self._server.sockets[0].getsockname()
        return bound[0], bound[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._tasks.stop()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _CONNECTION_COUNT_MAX:
            writer.transport.abort()
            return
        self._tasks.start(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            is_head, answer = await self._answer(reader)
            async with asyncio.timeout(_ANSWER_S_MAX):
                await _send(writer, answer, is_head=is_head)
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # it went away, or does not read: that is its own affair
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[bool, HttpAnswer]:
        """(is it a HEAD, the answer)"""
        try:
            async with asyncio.timeout(_REQUEST_S_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return False, _error(431)
        except TimeoutError:
            return False, _error(408)
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return False, _error(400)
        method, target = words[0], words[1]
        page = self._pages.get(target.partition("?")[0])
        if page is None:
            return method == "HEAD", _error(404)
        if method not in ("GET", "HEAD"):
            return False, _error(405)
        return method == "HEAD", await page()


async def _send(writer: asyncio.StreamWriter, answer: HttpAnswer, *, is_head: bool) -> None:
    body = answer.body
    lines = [
        f"HTTP/1.1 {answer.status} {_PHRASES[answer.status]}",
        f"Content-Type: {answer.content_type}",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    if answer.status == 405:
        lines.append("Allow: GET, HEAD")
    if isinstance(body, str):
        lines.append(f"Content-Length: {len(body.encode())}")
    # Without a length the body ends with the connection, as HTTP/1.0 and 1.1 both have it.
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if is_head:
        pass
    elif isinstance(body, str):
        writer.write(body.encode())
    else:
        async for piece in body:
            writer.write(piece.encode())
            await writer.drain()
    await writer.drain()


def _error(status: int) -> HttpAnswer:
    return HttpAnswer(status, f"{_PHRASES[status]}\n")
