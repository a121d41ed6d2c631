"""A Kafka client of a few lines, on the project's own codec and a blocking socket."""

import socket
import struct
from types import TracebackType
from typing import Self, TypeVar, cast

from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.schema import Message

M = TypeVar("M", bound=Message)
TIMEOUT_S = 30


class ConnectionClosed(Exception):
    """The server hung up."""


class RawClient:
    """One connection. Answers must come in the order of the requests; `ask` checks that."""

    def __init__(
        self,
        address: tuple[str, int],
        client_id: str | None = "raw",
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Message, version: int, response: type[M]) -> M:
        return self.receive(response, version, self.send(request, version))

    def send(self, request: Message, version: int) -> int:
        self._correlation_id += 1
        parts = encode_request(request, version, self._correlation_id, self._client_id)
        self.send_bytes(b"".join(cast("list[bytes]", parts)))
        return self._correlation_id

    def send_bytes(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ConnectionClosed from error

    def receive(self, response: type[M], version: int, correlation_id: int | None = None) -> M:
        header, message = decode_response(response, version, self.receive_frame())
        if correlation_id is not None:
            assert header.correlation_id == correlation_id
        return message

    def receive_frame(self) -> bytes:
        length = struct.unpack(">i", self._receive_exactly(4))[0]
        return self._receive_exactly(length)

    def is_closed(self) -> bool:
        """Wait for the server to hang up; False if it sends something instead."""
        try:
            return not self._socket.recv(1)
        except ConnectionResetError:
            return True

    def _receive_exactly(self, size: int) -> bytes:
        pieces = []
        while size:
            try:
                piece = self._socket.recv(min(size, 1 << 20))
            except ConnectionResetError as error:
                raise ConnectionClosed from error
            if not piece:
                raise ConnectionClosed
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def highest_version(request: Message) -> int:
    assert request.KEY is not None
    return API_BY_KEY[request.KEY].max_version
