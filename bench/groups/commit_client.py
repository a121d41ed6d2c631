"""Offsets committed as fast as they are acknowledged, by groups without members.

usage: python -m bench.groups.commit_client PORT TOPIC CONNECTIONS OFFSETS REQUESTS

Each connection commits for groups of its own, `OFFSETS` of them at once, partitions 0 and on; so
many requests in all, each for another group than the one before, which makes every offset a key of
its own.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Final

import uvloop

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from bench.groups.member import Connection, find_coordinator

_VERSION: Final = 9
_RETRY_S: Final = 0.05
_NOT_YET: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
_LOADED_WITHIN_S: Final = 30.0


class Committer:
    def __init__(self, connection: Connection, name: str, topic: str, offset_count: int) -> None:
        self._connection = connection
        self._name = name
        wanted = [OffsetCommitRequestPartition(it, 17) for it in range(offset_count)]
        self._topics = [OffsetCommitRequestTopic(topic, partitions=wanted)]

    async def run(self, request_count: int) -> None:
        for number in range(request_count):
            await self.commit(f"{self._name}-{number}")

    async def commit(self, group: str) -> None:
        request = OffsetCommitRequest(group, topics=self._topics)
        give_up_at = time.monotonic() + _LOADED_WITHIN_S
        while True:
            answer = await self._connection.ask(request, _VERSION, OffsetCommitResponse)
            errors = {one.error_code for topic in answer.topics for one in topic.partitions}
            if errors == {ErrorCode.NONE}:
                return
            # A topic of groups that has just been made is loaded, too.
            assert errors <= _NOT_YET, f"refused: {errors}"
            assert time.monotonic() < give_up_at, "it loads for ever"
            await asyncio.sleep(_RETRY_S)


async def measure(
    port: int, topic: str, connection_count: int, offset_count: int, request_count: int
) -> dict[str, float]:
    connections = [await Connection.open(port) for _ in range(connection_count)]
    await find_coordinator(connections[0], "warm-up")
    stamp = time.time_ns()
    committers = [
        Committer(connection, f"{stamp}-{number}", topic, offset_count)
        for number, connection in enumerate(connections)
    ]
    share = request_count // connection_count
    for committer in committers:
        await committer.commit(f"{stamp}-first")
    begun = time.monotonic()
    await asyncio.gather(*(committer.run(share) for committer in committers))
    seconds = time.monotonic() - begun
    return {"offsets/s": share * connection_count * offset_count / seconds}


def main(arguments: Sequence[str]) -> None:
    port, connections, offsets, requests = (int(arguments[it]) for it in (0, 2, 3, 4))
    work = measure(port, arguments[1], connections, offsets, requests)
    print(json.dumps(uvloop.run(work)))


if __name__ == "__main__":
    main(sys.argv[1:])
