"""Ten members share many partitions: how long until all is given out, one more comes, one dies.

usage: python -m bench.groups.settle_client PORT TOPIC PARTITIONS MEMBERS SESSION_S

The one that dies says nothing: the coordinator notices when a session has run out since its last
heartbeat, and the time is counted from then on.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Final

import uvloop

from bench.groups.member import Connection, Member, find_coordinator

_TIMEOUT_S: Final = 90.0
_POLL_S: Final = 0.005
_STEADY_S: Final = 6.0


class Settling:
    def __init__(self, port: int, topic: str, partition_count: int) -> None:
        self._port = port
        self._topic = topic
        self._count = partition_count
        self._group = f"settling-{time.time_ns()}"
        self.members: dict[Member, asyncio.Task[None]] = {}

    async def add(self) -> Member:
        connection = await Connection.open(self._port)
        await find_coordinator(connection, self._group)
        member = Member(connection, self._group, self._topic)
        self.members[member] = asyncio.ensure_future(member.run())
        return member

    def kill(self, member: Member) -> None:
        self.members.pop(member).cancel()

    async def seconds_until_settled(self, since: float) -> float:
        while not self._is_settled():
            for task in self.members.values():
                if task.done():
                    task.result()
            if time.monotonic() - since > _TIMEOUT_S:
                raise TimeoutError(f"not settled: {[len(it.partitions) for it in self.members]}")
            await asyncio.sleep(_POLL_S)
        return time.monotonic() - since

    def _is_settled(self) -> bool:
        """Each partition is somebody's, nobody has two more than another."""
        sizes = [len(member.partitions) for member in self.members]
        if sum(sizes) != self._count or max(sizes) - min(sizes) > 1:
            return False
        return len(set().union(*(it.partitions for it in self.members))) == self._count


async def measure(
    port: int, topic: str, partition_count: int, member_count: int, session_s: float
) -> dict[str, float]:
    group = Settling(port, topic, partition_count)
    connection = await Connection.open(port)
    await find_coordinator(connection, "warm-up")
    connection.close()
    since = time.monotonic()
    members = [await group.add() for _ in range(member_count)]
    found = {"start s": await group.seconds_until_settled(since)}
    await asyncio.sleep(_STEADY_S)
    since = time.monotonic()
    await group.add()
    found["add one s"] = await group.seconds_until_settled(since)
    await asyncio.sleep(_STEADY_S)
    group.kill(members[0])
    found["kill one s"] = await group.seconds_until_settled(members[0].beaten_at) - session_s
    for member in list(group.members):
        group.kill(member)
    return found


def main(arguments: Sequence[str]) -> None:
    port, topic, partitions, members, session_s = arguments
    work = measure(int(port), topic, int(partitions), int(members), float(session_s))
    print(json.dumps(uvloop.run(work)))


if __name__ == "__main__":
    main(sys.argv[1:])
