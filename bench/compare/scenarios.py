"""The scenarios, in the order in which they are measured."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from confluent_kafka import Consumer, TopicPartition

from bench.compare.client import (
    ROOT,
    consumer_perf,
    figures,
    last_line,
    module_command,
    producer_perf,
    run_module,
)
from bench.compare.cluster import Cluster, Failed
from bench.compare.scenario import (
    CPU_PER_GB,
    CPU_PER_REQUEST,
    IDLE_CPU,
    MEMORY,
    P50,
    P99,
    P999,
    RATE,
    RECORD_RATE,
    REQUEST_RATE,
    START,
    Figures,
    Goal,
    Scenario,
    Setting,
    Stage,
)

_PARTITIONS: Final = 4
_LARGE: Final = 1024
_SMALL: Final = 100
_COUNT: Final = {_LARGE: 400_000, _SMALL: 1_000_000}
_REQUEST_SECONDS: Final = 3.0
_PACED_COUNT: Final = 60_000  # six seconds at 10 MB/s
_REPLICATED_COUNT: Final = 200_000
_CLIENT_TIMEOUT_S: Final = 60

_numbers = count()


@contextmanager
def _topic(cluster: Cluster, partitions: int, replicas: int = 1) -> Iterator[str]:
    """Deleted after it: the pages are given back, and the next measurement gets them warm."""
    name = f"bench-{next(_numbers)}"
    config = {"file.delete.delay.ms": "1000", "min.insync.replicas": str(min(replicas, 2))}
    cluster.create_topic(name, partitions, replicas, config)
    try:
        yield name
    finally:
        cluster.delete_topic(name)


def _bulk(cluster: Cluster, work: Callable[[], Figures], record_count: int, size: int) -> Figures:
    """Rate and processor time of moving so many records."""
    before = cluster.cpu_seconds()
    found = work()
    cpu = cluster.cpu_seconds() - before
    seconds = found.pop("seconds")
    total_bytes = record_count * size
    return {
        RATE: total_bytes / seconds / 1e6,
        RECORD_RATE: record_count / seconds,
        CPU_PER_GB: cpu / (total_bytes / 1e9),
        **found,
        MEMORY: cluster.resident_mb(),
    }


def produce(size: int, acks: str) -> Callable[[Cluster, Setting], Figures]:
    def measure(cluster: Cluster, setting: Setting) -> Figures:
        amount = setting.count(_COUNT[size])
        with _topic(cluster, _PARTITIONS) as topic:
            arguments = ("write", cluster.bootstrap, topic, amount, size, acks)
            work = lambda: run_module("librdkafka_client", *arguments)  # noqa: E731
            return _bulk(cluster, work, amount, size)

    return measure


def consume(size: int) -> Callable[[Cluster, Setting], Figures]:
    def measure(cluster: Cluster, setting: Setting) -> Figures:
        amount = setting.count(_COUNT[size])
        with _topic(cluster, _PARTITIONS) as topic:
            arguments = (cluster.bootstrap, topic, amount, size)
            run_module("librdkafka_client", "write", *arguments)
            work = lambda: run_module("librdkafka_client", "read", *arguments)  # noqa: E731
            return _bulk(cluster, work, amount, size)

    return measure


def produce_with_java(cluster: Cluster, setting: Setting) -> Figures:
    java = setting.java
    assert java is not None
    amount = setting.count(_COUNT[_LARGE])
    with _topic(cluster, _PARTITIONS) as topic:
        work = lambda: producer_perf(  # noqa: E731
            java, cluster.bootstrap, topic, amount, _LARGE, "all"
        )
        return _bulk(cluster, work, amount, _LARGE)


def consume_with_java(cluster: Cluster, setting: Setting) -> Figures:
    java = setting.java
    assert java is not None
    amount = setting.count(_COUNT[_LARGE])
    with _topic(cluster, _PARTITIONS) as topic:
        run_module("librdkafka_client", "write", cluster.bootstrap, topic, amount, _LARGE)
        work = lambda: consumer_perf(java, cluster.bootstrap, topic, amount)  # noqa: E731
        return _bulk(cluster, work, amount, _LARGE)


def replicated(cluster: Cluster, setting: Setting) -> Figures:
    amount = setting.count(_REPLICATED_COUNT)
    with _topic(cluster, partitions=6, replicas=3) as topic:
        arguments = ("write", cluster.bootstrap, topic, amount, _LARGE, "all")
        work = lambda: run_module("librdkafka_client", *arguments)  # noqa: E731
        return _bulk(cluster, work, amount, _LARGE)


def one_per_request(connections: int) -> Callable[[Cluster, Setting], Figures]:
    def measure(cluster: Cluster, setting: Setting) -> Figures:
        seconds = setting.seconds(_REQUEST_SECONDS)
        with _topic(cluster, 1) as topic:
            before = cluster.cpu_seconds()
            found = run_module("request_process", cluster.ports[0], topic, connections, seconds)
            cpu = cluster.cpu_seconds() - before
            request_count = found.pop("count")
            if _end_offset(cluster, topic) < request_count:
                raise Failed("requests were answered whose records are not there")
            return {**found, CPU_PER_REQUEST: cpu / request_count * 1e6}

    return measure


def _end_offset(cluster: Cluster, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "unused"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()


def end_to_end(cluster: Cluster, setting: Setting) -> Figures:
    """A writer at a steady rate and a reader, a process each."""
    amount = setting.count(_PACED_COUNT)
    with _topic(cluster, 1) as topic:
        arguments = (cluster.bootstrap, topic, amount, _LARGE)
        before = cluster.cpu_seconds()
        reader = subprocess.Popen(
            module_command("librdkafka_client", "follow", *arguments),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            run_module("librdkafka_client", "pace", *arguments)
            output, complaint = reader.communicate(timeout=_CLIENT_TIMEOUT_S)
        finally:
            reader.kill()
            reader.wait()
        if reader.returncode:
            raise Failed(f"the reader failed: {last_line(complaint)}")
        cpu = cluster.cpu_seconds() - before
        return {**figures(output), CPU_PER_GB: cpu / (amount * _LARGE / 1e9)}


def start(cluster: Cluster, setting: Setting) -> Figures:
    """Called when the node has just answered; the time until then is known to the caller."""
    time.sleep(setting.seconds(2))
    return {MEMORY: cluster.resident_mb()}


def idle(cluster: Cluster, setting: Setting) -> Figures:
    time.sleep(setting.seconds(4))
    before, begun = cluster.cpu_seconds(), time.monotonic()
    time.sleep(setting.seconds(10))
    share = (cluster.cpu_seconds() - before) / (time.monotonic() - begun)
    return {IDLE_CPU: share * 100, MEMORY: cluster.resident_mb()}


_PRODUCE_GOALS: Final = (Goal(RATE, at_least=1.0), Goal(CPU_PER_GB, at_most=0.5))
_CONSUME_GOALS: Final = (Goal(RATE, at_least=1.0), Goal(CPU_PER_GB, at_most=1.0))
_REQUEST_GOALS: Final = (
    Goal(REQUEST_RATE, at_least=1.0),
    Goal(CPU_PER_REQUEST, at_most=0.7),
    Goal(P99, at_most=1.0),
)
_REPLICATED_GOALS: Final = (
    Goal(RATE, at_least=1.5),
    Goal(CPU_PER_GB, at_most=0.5),
    Goal(MEMORY, at_most=0.15),
)
_MANY_GOALS: Final = (
    Goal(START, at_most=10, is_ratio=False),
    Goal(IDLE_CPU, at_most=5, is_ratio=False),
)

ALL: Final = (
    Scenario(
        "start", "Start and idle memory", Stage.START, start,
        (Goal(START, at_most=0.15), Goal(MEMORY, at_most=0.2)),
    ),
    Scenario(
        "produce_1k", "Produce 1 KiB, acks=1", Stage.ONE, produce(_LARGE, "1"), _PRODUCE_GOALS
    ),
    Scenario(
        "produce_1k_all", "Produce 1 KiB, acks=all", Stage.ONE, produce(_LARGE, "all"),
        _PRODUCE_GOALS,
    ),
    Scenario(
        "produce_100", "Produce 100 B, acks=1", Stage.ONE, produce(_SMALL, "1"),
        (Goal(RATE, at_least=1.0),),
    ),
    Scenario("consume_1k", "Consume 1 KiB", Stage.ONE, consume(_LARGE), _CONSUME_GOALS),
    Scenario("consume_100", "Consume 100 B", Stage.ONE, consume(_SMALL), _CONSUME_GOALS),
    Scenario(
        "java_produce_1k", "Produce 1 KiB, acks=all, Java perf tool", Stage.ONE, produce_with_java,
        _PRODUCE_GOALS, needs_java=True,
    ),
    Scenario(
        "java_consume_1k", "Consume 1 KiB in a group, Java perf tool", Stage.ONE,
        consume_with_java, _CONSUME_GOALS, needs_java=True,
    ),
    Scenario(
        "requests_1", "One record per request, 1 connection", Stage.ONE, one_per_request(1), ()
    ),
    Scenario(
        "requests_16", "One record per request, 16 connections", Stage.ONE, one_per_request(16),
        _REQUEST_GOALS,
    ),
    Scenario(
        "requests_64", "One record per request, 64 connections", Stage.ONE, one_per_request(64), ()
    ),
    Scenario(
        "latency", "End to end at 10 MB/s", Stage.ONE, end_to_end, (Goal(P99, at_most=1.0),)
    ),
    Scenario(
        "replicated", "Three brokers, RF 3, produce 1 KiB, acks=all", Stage.THREE, replicated,
        _REPLICATED_GOALS,
    ),
    Scenario(
        "many", "10,000 partitions on one broker", Stage.MANY, idle, _MANY_GOALS, rounds=1
    ),
)  # fmt: skip
COLUMNS: Final = (
    RATE, RECORD_RATE, REQUEST_RATE, CPU_PER_GB, CPU_PER_REQUEST, P50, P99, P999, START, IDLE_CPU,
    MEMORY,
)  # fmt: skip
