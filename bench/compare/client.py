"""Starts clients, each in a process of its own with a deadline, and reads what they found."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from bench.compare.cluster import Failed
from tests.support.external import JavaRuntime

ROOT: Final = Path(__file__).parents[2]
# Of the line that kafka-consumer-perf-test prints: start, end, MB, MB/s, records, records/s, time
# of joining, time of fetching, and both rates of the latter.
_CONSUMER_PERF_COLUMNS: Final = 10
_READ_COUNT: Final = 4
_FETCH_MS: Final = 7
_TIMEOUT_S: Final = 60
_PERF_LINE: Final = re.compile(
    r"(?P<count>\d+) records sent, (?P<rate>[\d.]+) records/sec \((?P<mb>[\d.]+) MB/sec\).*"
    r" (?P<p50>\d+) ms 50th, .* (?P<p99>\d+) ms 99th, (?P<p999>\d+) ms 99.9th"
)


def run(command: Sequence[str]) -> str:
    """Standard output; `Failed` when it takes too long or ends with an error."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"the client was not done after {_TIMEOUT_S} s") from None
    if done.returncode:
        raise Failed(f"the client failed: {last_line(done.stderr)}")
    return done.stdout


def run_module(module: str, *arguments: object) -> dict[str, float]:
    return figures(run(module_command(module, *arguments)))


def module_command(module: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"bench.compare.{module}", *map(str, arguments)]


def figures(output: str) -> dict[str, float]:
    return cast("dict[str, float]", json.loads(output))


def last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "it said nothing")


def producer_perf(
    java: JavaRuntime, bootstrap: str, topic: str, count: int, size: int, acks: str
) -> dict[str, float]:
    """Kafka's own `kafka-producer-perf-test`; its MB are of 2^20 bytes, ours of 10^6."""
    properties = [f"acks={acks}", "linger.ms=5", "batch.size=1048576", "buffer.memory=134217728"]
    output = run(
        [
            *_java_tool(java, "ProducerPerformance"),
            *("--bootstrap-server", bootstrap, "--topic", topic, "--throughput", "-1"),
            *("--num-records", str(count), "--record-size", str(size)),
            *("--command-property", *properties),
        ]
    )
    found = _PERF_LINE.search(last_line(output))
    if found is None:
        raise Failed(f"kafka-producer-perf-test said: {last_line(output)}")
    return {
        "seconds": count / float(found["rate"]),
        "p50 ms": float(found["p50"]),
        "p99 ms": float(found["p99"]),
        "p99.9 ms": float(found["p999"]),
    }


def consumer_perf(java: JavaRuntime, bootstrap: str, topic: str, count: int) -> dict[str, float]:
    """Kafka's own `kafka-consumer-perf-test`, in a group; the time of joining it is left out."""
    output = run(
        [
            *_java_tool(java, "ConsumerPerformance"),
            *("--bootstrap-server", bootstrap, "--topic", topic, "--hide-header"),
            *("--num-records", str(count)),
        ]
    )
    columns = last_line(output).split(", ")
    if len(columns) != _CONSUMER_PERF_COLUMNS or int(columns[_READ_COUNT]) < count:
        raise Failed(f"kafka-consumer-perf-test said: {last_line(output)}")
    return {"seconds": float(columns[_FETCH_MS]) / 1000}


def _java_tool(java: JavaRuntime, name: str) -> list[str]:
    flags = ("-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
    classes = ("-cp", str(java.jars / "*"), f"org.apache.kafka.tools.{name}")
    return [str(java.program), *flags, *classes]
