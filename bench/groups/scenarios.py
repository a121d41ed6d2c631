"""What is measured of groups, and what is aimed at."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Final

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from bench.compare.client import ROOT, figures, last_line
from bench.compare.cluster import Cluster, Failed
from bench.compare.scenario import Figures, Goal, Scenario, Setting, Stage
from bench.groups.side import GroupCluster
from tests.support.raw_client import RawClient

SESSION_S: Final = 10
SETTINGS: Final = (
    f"group.consumer.session.timeout.ms={SESSION_S * 1000}\n"
    f"group.consumer.min.session.timeout.ms={SESSION_S * 1000}\n"
)
"""On both sides: so long nobody knows of a member that died."""
ONE_SHARD: Final = "offsets.topic.num.partitions=1\n"
_PARTITIONS: Final = 900
_MEMBERS: Final = 10
_GROUPS: Final = 1_000
_HEARTBEAT_SECONDS: Final = 15.0
_COMMIT_CONNECTIONS: Final = 16
_COMMIT_REQUESTS: Final = 8_000
_OFFSETS_AT_ONCE: Final = 10
_LOADED_OFFSETS: Final = 1_000_000
_LOADED_AT_ONCE: Final = 1_000
_CLIENT_TIMEOUT_S: Final = 240
_LOAD_TIMEOUT_S: Final = 120
_WITNESS: Final = "witness"

_numbers = count()


def _client(module: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"bench.groups.{module}", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(module: str, *arguments: object) -> Figures:
    client = _client(module, *arguments)
    try:
        output, complaint = client.communicate(timeout=_CLIENT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"the client was not done after {_CLIENT_TIMEOUT_S} s") from None
    finally:
        client.kill()
        client.wait()
    if client.returncode:
        raise Failed(f"the client failed: {last_line(complaint)}")
    return figures(output)


def _topic(cluster: Cluster, partitions: int) -> str:
    name = f"bench-{next(_numbers)}"
    cluster.create_topic(name, partitions)
    cluster.wait_partitions(name, partitions)
    return name


def settle(cluster: GroupCluster, setting: Setting) -> Figures:
    topic = _topic(cluster, _PARTITIONS)
    return _run("settle_client", cluster.ports[0], topic, _PARTITIONS, _MEMBERS, SESSION_S)


def heartbeats(cluster: GroupCluster, setting: Setting) -> Figures:
    group_count = max(int(_GROUPS * setting.scale), 100)
    topic = _topic(cluster, 2)
    seconds = setting.seconds(_HEARTBEAT_SECONDS)
    client = _client("heartbeat_client", cluster.ports[0], topic, group_count, seconds)
    assert client.stdout is not None
    try:
        if client.stdout.readline().strip() != "measuring":
            raise Failed(f"the client failed: {last_line(client.communicate()[1])}")
        before, of_coordinator = cluster.cpu_seconds(), cluster.coordinator_cpu_seconds()
        line = client.stdout.readline()
        cpu = cluster.cpu_seconds() - before
        of_coordinator = cluster.coordinator_cpu_seconds() - of_coordinator
    finally:
        client.kill()
        client.wait()
    if not line:
        raise Failed("the client ended without figures")
    return {
        **json.loads(line),
        "CPU %": cpu / seconds * 100,
        "coordinator CPU %": of_coordinator / seconds * 100,
    }


def commits(offset_count: int, request_count: int) -> Callable[[GroupCluster, Setting], Figures]:
    def measure(cluster: GroupCluster, setting: Setting) -> Figures:
        topic = _topic(cluster, offset_count)
        arguments = (_COMMIT_CONNECTIONS, offset_count, setting.count(request_count))
        before = cluster.cpu_seconds()
        found = _run("commit_client", cluster.ports[0], topic, *arguments)
        cpu = cluster.cpu_seconds() - before
        committed = arguments[-1] // _COMMIT_CONNECTIONS * _COMMIT_CONNECTIONS * offset_count
        return {**found, "CPU µs/offset": cpu / committed * 1e6}

    return measure


def load(cluster: GroupCluster, setting: Setting) -> Figures:
    """Filled, then whatever computes for groups is started again."""
    topic = _topic(cluster, _LOADED_AT_ONCE)
    requests = max(int(_LOADED_OFFSETS * setting.scale), 1) // _LOADED_AT_ONCE
    port = cluster.ports[0]
    filled = _run("commit_client", port, topic, 4, _LOADED_AT_ONCE, requests)
    _commit_witness(port, topic)
    cluster.restart()
    begun = time.monotonic()
    while not _is_loaded(port):
        if time.monotonic() - begun > _LOAD_TIMEOUT_S:
            raise Failed(f"not loaded after {_LOAD_TIMEOUT_S} s")
        time.sleep(0.02)
    return {"load s": time.monotonic() - begun, "offsets/s": filled["offsets/s"]}


def _commit_witness(port: int, topic: str) -> None:
    wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 1)])
    with RawClient(("127.0.0.1", port)) as client:
        answer = client.ask(OffsetCommitRequest(_WITNESS, topics=[wanted]), 9, OffsetCommitResponse)
    if answer.topics[0].partitions[0].error_code != ErrorCode.NONE:
        raise Failed("the last commit was refused")


def _is_loaded(port: int) -> bool:
    """The last commit of the shard is known."""
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(_WITNESS, topics=None)])
    try:
        with RawClient(("127.0.0.1", port)) as client:
            find = FindCoordinatorRequest(coordinator_keys=[_WITNESS])
            found = client.ask(find, 4, FindCoordinatorResponse).coordinators[0]
            if found.error_code != ErrorCode.NONE:
                return False
            group = client.ask(fetch, 8, OffsetFetchResponse).groups[0]
    except OSError:
        return False
    return group.error_code == ErrorCode.NONE and bool(group.topics)


_SETTLE_GOALS: Final = tuple(
    Goal(figure, at_most=5, is_ratio=False) for figure in ("start s", "add one s", "kill one s")
)
MANY_SHARDS: Final = (
    Scenario(
        "settle", "10 members, 900 partitions", Stage.ONE, settle, _SETTLE_GOALS, rounds=1
    ),
    Scenario(
        "heartbeats", "1,000 groups of 2 members that beat and commit", Stage.ONE, heartbeats,
        (
            Goal("heartbeat p99 ms", at_most=1),
            Goal("commit p99 ms", at_most=1),
            Goal("CPU %", at_most=1),
        ),
        rounds=1,
    ),
    Scenario(
        "commits_1", "Commits of 1 offset, 16 connections", Stage.ONE,
        commits(1, _COMMIT_REQUESTS), (Goal("offsets/s", at_least=1),),
    ),
    Scenario(
        "commits_10", "Commits of 10 offsets, 16 connections", Stage.ONE,
        commits(_OFFSETS_AT_ONCE, _COMMIT_REQUESTS // 2), (Goal("offsets/s", at_least=1),),
    ),
)  # fmt: skip
SINGLE_SHARD: Final = (
    Scenario(
        "load", "A shard of 1,000,000 offsets is loaded", Stage.ONE, load,
        (Goal("load s", at_most=10, is_ratio=False),), rounds=1,
    ),
)  # fmt: skip
ALL: Final = (*MANY_SHARDS, *SINGLE_SHARD)
