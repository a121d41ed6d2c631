"""Members in Java's newest client, while a coordinator and the broker of their shard are killed.

They stay who they are, keep their partitions, and what was acknowledged as committed is committed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.external import JavaRuntime, obtain
from tests.support.group_cluster import TOPIC, group_cluster
from tests.support.java_members import JavaMembers
from tests.support.java_source import java_command
from tools.fetch import NEW_CLIENT_VERSION, fetch_client

PROTOCOLS = ("classic", "consumer")
NAMES = tuple(f"{protocol}-{number}" for protocol in PROTOCOLS for number in range(2))
# What a client logs and compresses with.
LIBRARIES = ("slf4j-api", "slf4j-simple", "lz4-java", "snappy-java", "zstd-jni")
STEADY_S = 10.0
DEADLINE_S = 60


@contextmanager
def members(command: list[str], bootstrap: str) -> Iterator[JavaMembers]:
    found = JavaMembers([*command, bootstrap, TOPIC, *PROTOCOLS], NAMES)
    try:
        yield found
    finally:
        found.close()


def test_java_members_stay_and_their_commits_are_kept(
    request: pytest.FixtureRequest, java: JavaRuntime, java_classes: Path, tmp_path: Path
) -> None:
    client = obtain(request, lambda: fetch_client(NEW_CLIENT_VERSION))
    libraries = [jar for name in LIBRARIES for jar in java.jars.glob(f"{name}-*.jar")]
    command = java_command(java, [java_classes, client, *libraries], "SteadyMembers")
    with group_cluster(tmp_path) as cluster:
        with members(command, cluster.bootstrap) as java_members:
            wait_settled(java_members)
            before = java_members.standing()
            for node in (cluster.busiest_coordinator(), cluster.busiest_broker()):
                killed_at = time.monotonic()
                node.kill()
                dead_at = time.monotonic()  # what was sent before may have been answered by it
                served_s = java_members.wait_served(dead_at) + dead_at - killed_at
                print(f"kill -9 of {node.name}: {served_s:.2f} s until Java members are served")
                assert java_members.standing() == before
                cluster.bring_back(node)
        for name in NAMES:
            last = java_members.commits[name][-1]
            assert committed(cluster.bootstrap, name, last.partition) >= last.offset
        cluster.assert_no_complaints()


def wait_settled(java_members: JavaMembers) -> None:
    """Until nothing has changed for a while, and each has one partition."""
    give_up_at = time.monotonic() + 3 * DEADLINE_S
    while True:
        java_members.wait_served(time.monotonic())
        before = java_members.standing()
        time.sleep(STEADY_S)
        java_members.wait_served(time.monotonic())
        partitions = [one[0] for one in java_members.standing()]
        if java_members.standing() == before and partitions[0::2] != partitions[1::2]:
            return
        assert time.monotonic() < give_up_at, f"not settled: {java_members.events}"


def committed(bootstrap: str, name: str, partition: int) -> int:
    group = f"java-{name.partition('-')[0]}"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        return int(consumer.committed([TopicPartition(TOPIC, partition)], DEADLINE_S)[0].offset)
    finally:
        consumer.close()
