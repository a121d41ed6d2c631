"""One request after the other on each of several connections, as fast as they are answered."""

import asyncio
import struct
import time
from dataclasses import dataclass, field
from typing import cast

WARM_UP_SECONDS = 0.3


@dataclass
class Result:
    seconds: float
    total_count: int
    """All requests, those of the warm-up included."""
    latencies_s: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.latencies_s) / self.seconds

    def percentile_ms(self, percent: float) -> float:
        ordered = sorted(self.latencies_s)
        return ordered[int(len(ordered) * percent / 100)] * 1000


class Client(asyncio.Protocol):
    """Sends its next request when the answer to the last is complete."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._received = b""
        self._sent_at = 0.0
        self.transport: asyncio.WriteTransport | None = None
        self.latencies_s: list[float] = []
        self.count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self.transport = cast("asyncio.WriteTransport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        if self._received:
            data = self._received + data
        if len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            self._received = data
            return
        self._received = b""
        self.latencies_s.append(time.perf_counter() - self._sent_at)
        self.count += 1
        self._send()

    def _send(self) -> None:
        assert self.transport is not None
        self._sent_at = time.perf_counter()
        self.transport.write(self._request)


async def drive(
    host: str, port: int, connection_count: int, request: bytes, *, seconds: float
) -> Result:
    loop = asyncio.get_running_loop()
    clients = []
    for _ in range(connection_count):
        _, client = await loop.create_connection(lambda: Client(request), host, port)
        clients.append(client)
    await asyncio.sleep(WARM_UP_SECONDS)
    for client in clients:
        client.latencies_s.clear()
    begun = time.perf_counter()
    await asyncio.sleep(seconds)
    lasted = time.perf_counter() - begun
    result = Result(lasted, sum(client.count for client in clients))
    for client in clients:
        result.latencies_s += client.latencies_s
        assert client.transport is not None
        client.transport.abort()
    return result
