"""What gRPC raises when the other process is gone is the end of the stream, and nothing worse."""

import asyncio

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import pytest
from grpc._cython.cygrpc import ExecuteBatchError  # type: ignore[import-untyped]

from barnabas_core.links.grpc_links import _ServedTransport
from barnabas_core.links.item import Frame
from barnabas_core.links.transport import StreamEnded

ENDS = [
    grpc.RpcError("gone"),
    asyncio.InvalidStateError("over"),
    grpc.aio.UsageError("finished"),
    ExecuteBatchError("killed while it was sent to"),
]


class BrokenContext:
    """gRPC's view of a caller of which this is left."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def write(self, _: bytes) -> None:
        raise self._error

    async def read(self) -> bytes:
        raise self._error


@pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)
def test_whatever_grpc_raises_on_a_lost_stream_ends_it(error: Exception) -> None:
    transport = _ServedTransport(BrokenContext(error))

    with pytest.raises(StreamEnded):
        asyncio.run(transport.send(Frame(0, 0)))
    with pytest.raises(StreamEnded):
        asyncio.run(transport.receive())
