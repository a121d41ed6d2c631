"""Brokers come and go in one process, and leave no task and no file behind."""

import asyncio
import gc
import os
import time
from collections import Counter

from barnabas.async_cluster import AsyncCluster
from barnabas.cluster_options import ClusterOptions

LIVES = 3
SETTLED_WITHIN_S = 30.0


def tasks() -> Counter[str]:
    """Those of the event loop, by what they run."""
    found = (task.get_coro() for task in asyncio.all_tasks())
    return Counter(getattr(coro, "__qualname__", repr(coro)) for coro in found)


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


async def live_and_die(cluster: AsyncCluster, times: int) -> None:
    for _ in range(times):
        await cluster.kill_broker(2)
        await cluster.start_broker(2)
        await cluster.stop_broker(3)
        await cluster.start_broker(3)


async def until_settled(cluster: AsyncCluster) -> None:
    """Every replica is in sync: what catches up has done so."""

    def is_settled() -> bool:
        topic = cluster.broker.view.topic("kept")
        return topic is not None and all(len(one.isr) == 3 for one in topic.partitions.values())

    async with asyncio.timeout(SETTLED_WITHIN_S):
        while not is_settled():  # noqa: ASYNC110 - the metadata says it
            await asyncio.sleep(0.05)


def test_brokers_that_come_and_go_leave_nothing_behind() -> None:
    async def run() -> None:
        async with AsyncCluster(ClusterOptions(brokers=3)) as cluster:
            await cluster.create_topic("kept", partitions=3, replication_factor=3)
            await live_and_die(cluster, 1)
            await until_settled(cluster)
            before, files = tasks(), descriptors()

            await live_and_die(cluster, LIVES)
            await until_settled(cluster)

            give_up_at = time.monotonic() + SETTLED_WITHIN_S

            def is_over() -> bool:
                return not tasks() - before and descriptors() <= files

            while not is_over() and time.monotonic() < give_up_at:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # what waits for a time-out is still about
            assert not tasks() - before
            assert descriptors() <= files

    asyncio.run(run())
