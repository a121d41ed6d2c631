"""Links between processes: one bidirectional gRPC stream per pair of processes and purpose.

gRPC carries bytes and nothing else: no serialisers, no stubs, one generic method per purpose. Each
stream has a channel of its own (channels to one address would share a connection otherwise, and a
bulk stream would delay a heartbeat), made anew for every attempt, so that it takes the certificates
as they are now. Reconnecting is the link's business, not gRPC's.

This module imports grpc and protobuf; who may do without gRPC imports it only when it is needed.
"""

import asyncio
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]

from barnabas_core.links.frame import decode_frame, encode_frame
from barnabas_core.links.item import Frame
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.several_addresses import SeveralAddresses
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.links.transport import Accept, StreamEnded
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Identity, Purpose
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.security.tls import (
    InternalTls,
    TlsError,
    channel_credentials,
    server_credentials,
)

_SERVICE: Final = "barnabas.Link"
_FRAME_OVERHEAD_BYTES: Final = 5 * 1024 * 1024
_KEEPALIVE_MS: Final = 10_000
_LAST_WRITE_S: Final = 1
# What gRPC raises on a stream that is over, depending on how and when it noticed. Its own comes
# when the other process was killed while something was being sent to it.
_OVER: Final = (grpc.RpcError, asyncio.InvalidStateError, grpc.aio.BaseError)

# Streams have pings of their own; this frees what gRPC still holds for a peer that is gone.
_KEEPALIVE: Final = [
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_MS),
]


class GrpcLinks(StreamLinks):
    def __init__(
        self,
        identity: Identity,
        clock: Clock,
        log: EventLog,
        *,
        tls: InternalTls | None = None,
        config: LinkConfig | None = None,
    ) -> None:
        config = config or LinkConfig()
        super().__init__(GrpcNetwork(config, tls), identity, clock, log, config)


class GrpcNetwork:
    def __init__(
        self, config: LinkConfig, tls: InternalTls | None, several: SeveralAddresses | None = None
    ) -> None:
        self._config = config
        self._tls = tls
        self._several = several or SeveralAddresses()

    async def connect(self, purpose: Purpose, address: Address) -> "_CallerTransport":
        reachable = _reachable(address)
        several = await self._several.others(reachable)
        try:
            channel = self._channel(reachable, several)
        except TlsError as error:
            raise StreamEnded(str(error)) from error
        return _CallerTransport(channel, purpose, address)

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> "_GrpcServer":
        server = grpc.aio.server(options=[*self._options(), *_KEEPALIVE])
        handlers = {purpose.value: _handler(purpose, accept) for purpose in purposes}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
        port = self._bind(server, address)
        await server.start()
        return _GrpcServer(server, Address(address.host, port))

    def _bind(self, server: Any, address: Address) -> int:  # noqa: ANN401 - gRPC has no types
        try:
            if self._tls is None:
                port = server.add_insecure_port(_bindable(address))
            else:
                port = server.add_secure_port(_bindable(address), server_credentials(self._tls))
        except TlsError as error:
            raise OSError(errno.EINVAL, str(error), str(address)) from error
        except RuntimeError as error:
            # gRPC does not say which it was; nearly always somebody else has the port.
            raise OSError(
                errno.EADDRINUSE, f"{os.strerror(errno.EADDRINUSE)}: {error}", str(address)
            ) from error
        assert isinstance(port, int)
        return port

    def _channel(self, address: Address, several: Sequence[Address]) -> Any:  # noqa: ANN401
        target, options = str(address), self._options()
        if several:
            target = "ipv4:" + ",".join(map(str, several))
            # Certificates have the name.
            options.append(("grpc.ssl_target_name_override", address.host))
        if self._tls is None:
            return grpc.aio.insecure_channel(target, options=options)
        return grpc.aio.secure_channel(target, channel_credentials(self._tls), options=options)

    def _options(self) -> list[tuple[str, int | str]]:
        message_bytes = self._config.item_bytes_max + _FRAME_OVERHEAD_BYTES
        return [
            ("grpc.max_send_message_length", message_bytes),
            ("grpc.max_receive_message_length", message_bytes),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.min_reconnect_backoff_ms", self._config.reconnect_ms_min),
            ("grpc.initial_reconnect_backoff_ms", self._config.reconnect_ms_min),
            ("grpc.max_reconnect_backoff_ms", self._config.reconnect_ms_max),
            # Two servers on one port would each get some of the streams.
            ("grpc.so_reuseport", 0),
            # Links stay inside the cluster, whatever the environment says about proxies.
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
        ]


def _bindable(address: Address) -> str:
    """gRPC wants every address named."""
    return str(address if address.host else address._replace(host="::"))


def _reachable(address: Address) -> Address:
    """Whoever listens on every address calls itself by this one."""
    return address if address.host else address._replace(host="localhost")


def _handler(purpose: Purpose, accept: Accept) -> Any:  # noqa: ANN401
    async def serve(_: object, context: Any) -> None:  # noqa: ANN401
        await accept(purpose, _ServedTransport(context))

    return grpc.stream_stream_rpc_method_handler(serve)


class _GrpcServer:
    def __init__(self, server: Any, address: Address) -> None:  # noqa: ANN401
        self._server = server
        self._address = address

    @property
    def address(self) -> Address:
        return self._address

    async def close(self) -> None:
        await self._server.stop(None)


class _CallerTransport:
    def __init__(self, channel: Any, purpose: Purpose, address: Address) -> None:  # noqa: ANN401
        self._channel = channel
        self._address = address
        self._stream = channel.stream_stream(f"/{_SERVICE}/{purpose.value}")()

    @property
    def peer(self) -> str:
        return str(self._address)

    async def send(self, frame: Frame) -> None:
        try:
            await self._stream.write(encode_frame(frame))
        except _OVER as error:
            raise StreamEnded(_reason(error)) from error

    async def receive(self) -> Frame:
        try:
            message = await self._stream.read()
        except _OVER as error:
            raise StreamEnded(_reason(error)) from error
        return _decoded(message)

    async def close(self) -> None:
        self._stream.cancel()
        await self._channel.close()


class _ServedTransport:
    """Ends with the handler that made it; a handler whose caller is gone is cancelled by gRPC.

    A write is never cancelled: gRPC would forget that it has begun to answer, fail over sending
    the stream's end, and leave the caller waiting for it.
    """

    def __init__(self, context: Any) -> None:  # noqa: ANN401
        self._context = context
        self._writing: asyncio.Future[None] | None = None

    @property
    def peer(self) -> str:
        return str(self._context.peer())

    async def send(self, frame: Frame) -> None:
        self._writing = asyncio.ensure_future(self._context.write(encode_frame(frame)))
        try:
            await asyncio.shield(self._writing)
        except _OVER as error:
            raise StreamEnded(_reason(error)) from error

    async def receive(self) -> Frame:
        try:
            message = await self._context.read()
        except _OVER as error:
            raise StreamEnded(_reason(error)) from error
        return _decoded(message)

    async def close(self) -> None:
        if self._writing is None:
            return
        self._writing.add_done_callback(_note)
        with suppress(TimeoutError, *_OVER):
            # One that is stopped does not read on: then keepalive ends the connection.
            async with asyncio.timeout(_LAST_WRITE_S):
                await asyncio.shield(self._writing)


def _note(writing: asyncio.Future[None]) -> None:
    """Its failure is no news: the stream is over."""
    if not writing.cancelled():
        writing.exception()


def _decoded(message: Any) -> Frame:  # noqa: ANN401
    if message is grpc.aio.EOF:
        raise StreamEnded("the other end closed the stream")
    return decode_frame(message)


def _reason(error: BaseException) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or type(error).__name__
