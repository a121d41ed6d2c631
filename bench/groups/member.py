"""A member of a group by the new protocol: heartbeats, what comes of them, and nothing else."""

import asyncio
import struct
import time
import uuid
from typing import Any, Final, TypeVar, cast

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.schema import Message

M = TypeVar("M", bound=Message)
_LENGTH: Final = struct.Struct(">i")
_REBALANCE_TIMEOUT_MS: Final = 300_000
_RETRY_S: Final = 0.1
_FIND_TIMEOUT_S: Final = 60.0
HEARTBEAT_VERSION: Final = 1
_FIND_VERSION: Final = 4


class Connection:
    """One request after the other; whoever comes meanwhile waits."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()
        self._correlation = 0

    @classmethod
    async def open(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    async def ask(self, request: Message, version: int, response: type[M]) -> M:
        async with self._turn:
            self._correlation += 1
            parts = encode_request(request, version, self._correlation, "bench")
            self._writer.write(b"".join(cast("list[bytes]", parts)))
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            body = await self._reader.readexactly(length)
        return decode_response(response, version, body)[1]

    def close(self) -> None:
        self._writer.close()


async def find_coordinator(connection: Connection, group: str) -> None:
    """Until there is one: the topic of the groups is made when the first is asked for."""
    request = FindCoordinatorRequest(coordinator_keys=[group])
    give_up_at = time.monotonic() + _FIND_TIMEOUT_S
    while True:
        found = await connection.ask(request, _FIND_VERSION, FindCoordinatorResponse)
        if found.coordinators[0].error_code == ErrorCode.NONE:
            return
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"no coordinator: error {found.coordinators[0].error_code}")
        await asyncio.sleep(_RETRY_S)


class Member:
    def __init__(self, connection: Connection, group: str, topic: str) -> None:
        self.group = group
        self.id = str(uuid.uuid4())
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}
        self.interval_s = 5.0
        self.latencies_s: list[float] = []
        self.beaten_at = 0.0
        self._connection = connection
        self._topic = topic

    @property
    def partitions(self) -> set[tuple[bytes, int]]:
        return {(topic, it) for topic, indexes in self.owned.items() for it in indexes}

    async def run(self) -> None:
        """Until cancelled: as one that was killed."""
        while True:
            is_changed = await self.beat()
            await asyncio.sleep(0 if is_changed else self.interval_s)

    async def beat(self) -> bool:
        """Whether there is more to say at once: something was given up, or taken."""
        begun = time.perf_counter()
        self.beaten_at = time.monotonic()
        answer = await self._connection.ask(
            self._request(), HEARTBEAT_VERSION, ConsumerGroupHeartbeatResponse
        )
        self.latencies_s.append(time.perf_counter() - begun)
        return await self._take(answer)

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        owned = [TopicPartitions(topic, indexes) for topic, indexes in self.owned.items()]
        joins = self.epoch == 0
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS if joins else -1,
            subscribed_topic_names=[self._topic] if joins else None,
            topic_partitions=[] if joins else owned,
        )

    async def _take(self, answer: Any) -> bool:  # noqa: ANN401 - its assignment is a nested struct
        error = ErrorCode(answer.error_code)
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.epoch, self.owned = 0, {}
            return True
        if error is not ErrorCode.NONE:
            await asyncio.sleep(_RETRY_S)
            return True
        self.epoch = answer.member_epoch
        self.interval_s = answer.heartbeat_interval_ms / 1000
        if answer.assignment is None:
            return False
        owned = {one.topic_id: list(one.partitions) for one in answer.assignment.topic_partitions}
        is_changed = owned != self.owned
        self.owned = owned
        return is_changed
