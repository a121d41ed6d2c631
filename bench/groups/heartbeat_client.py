"""Many groups of two members each, who beat and commit at their interval.

usage: python -m bench.groups.heartbeat_client PORT TOPIC GROUPS SECONDS

Says `measuring` when all have settled, then its figures as JSON: latencies of what was asked in the
seconds after that. Members share connections, ten to each.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Final

import uvloop

from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from bench.groups.member import Connection, Member, find_coordinator

_MEMBERS: Final = 2
_PER_CONNECTION: Final = 10
_COMMIT_VERSION: Final = 9
_SETTLE_TIMEOUT_S: Final = 90.0


class Committing(Member):
    """Between two heartbeats it commits what it has, as consumers do."""

    def __init__(self, connection: Connection, group: str, topic: str) -> None:
        super().__init__(connection, group, topic)
        self.commit_latencies_s: list[float] = []
        self.offset = 0

    async def run(self) -> None:
        while True:
            is_changed = await self.beat()
            if is_changed:
                continue
            await asyncio.sleep(self.interval_s / 2)
            await self.commit()
            await asyncio.sleep(self.interval_s / 2)

    async def commit(self) -> None:
        self.offset += 1
        wanted = [
            OffsetCommitRequestPartition(index, self.offset)
            for indexes in self.owned.values()
            for index in indexes
        ]
        topics = [OffsetCommitRequestTopic(self._topic, partitions=wanted)]
        request = OffsetCommitRequest(self.group, self.epoch, self.id, topics=topics)
        begun = time.perf_counter()
        answer = await self._connection.ask(request, _COMMIT_VERSION, OffsetCommitResponse)
        self.commit_latencies_s.append(time.perf_counter() - begun)
        errors = {one.error_code for topic in answer.topics for one in topic.partitions}
        assert errors <= {0}, f"commits were refused: {errors}"


async def measure(port: int, topic: str, group_count: int, seconds: float) -> dict[str, float]:
    count = group_count * _MEMBERS
    connections = [await Connection.open(port) for _ in range(-(-count // _PER_CONNECTION))]
    await find_coordinator(connections[0], "warm-up")
    stamp = time.time_ns()
    members = [
        Committing(connections[number % len(connections)], f"{stamp}-{number // 2}", topic)
        for number in range(count)
    ]
    tasks = []
    for member in members:
        tasks.append(asyncio.ensure_future(member.run()))
        # Spread over an interval, as they will beat from then on.
        await asyncio.sleep(member.interval_s / count)
    await _settled(members, tasks)
    print("measuring", flush=True)
    for member in members:
        member.latencies_s.clear()
        member.commit_latencies_s.clear()
    await asyncio.sleep(seconds)
    beats = sorted(it for member in members for it in member.latencies_s)
    commits = sorted(it for member in members for it in member.commit_latencies_s)
    for task in tasks:
        task.cancel()
    return {
        "heartbeats/s": len(beats) / seconds,
        "heartbeat p50 ms": beats[len(beats) // 2] * 1000,
        "heartbeat p99 ms": beats[int(len(beats) * 0.99)] * 1000,
        "commit p50 ms": commits[len(commits) // 2] * 1000,
        "commit p99 ms": commits[int(len(commits) * 0.99)] * 1000,
    }


async def _settled(members: Sequence[Member], tasks: Sequence["asyncio.Task[None]"]) -> None:
    give_up_at = time.monotonic() + _SETTLE_TIMEOUT_S
    while any(len(member.partitions) != 1 for member in members):
        for task in tasks:
            if task.done():
                task.result()
        if time.monotonic() > give_up_at:
            raise TimeoutError("the groups do not settle")
        await asyncio.sleep(0.1)


def main(arguments: Sequence[str]) -> None:
    port, topic, groups, seconds = arguments
    print(json.dumps(uvloop.run(measure(int(port), topic, int(groups), float(seconds)))))


if __name__ == "__main__":
    main(sys.argv[1:])
