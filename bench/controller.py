"""A controller process with many topics: to create them, to keep them, to start with them.

usage: controller.py [topics] [partitions]

10,000 topics of 3 partitions unless told otherwise, with 3 replicas each, on 3 brokers that only
register and beat. Asked on the CONTROLLER listener as an administrator would. Prints one table;
times are of the clock, with whatever else the machine does.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from tests.support.controller_admin import Admin
from tests.support.controller_process import ControllerNode, Quorum, controllers, until
from tests.support.fake_broker import FakeBrokers
from tests.support.metadata_files import checkpoint_image
from tests.support.raw_client import RawClient

REPLICAS = 3
PER_REQUEST = 50
VERSION = 7
RESTARTS = 3
AT_ONCE = {"KAFKA_METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS": "1"}


def create(client: RawClient, names: Sequence[str], partition_count: int) -> None:
    topics = [CreatableTopic(name, partition_count, REPLICAS) for name in names]
    answer = client.ask(CreateTopicsRequest(topics), VERSION, CreateTopicsResponse)
    assert all(topic.error_code == ErrorCode.NONE for topic in answer.topics), answer


def create_all(node: ControllerNode, names: Sequence[str], step: int, partitions: int) -> float:
    """One request after the other; the seconds that took."""
    begun_at = time.perf_counter()
    with RawClient(node.address) as client:
        for start in range(0, len(names), step):
            create(client, names[start : start + step], partitions)
    return time.perf_counter() - begun_at


def restart(quorum: Quorum, node: ControllerNode, environment: dict[str, str]) -> float:
    """Seconds from the start of the process to the first thing it decides."""
    node.stop()
    begun_at = time.perf_counter()
    node.start(environment)
    with Admin(quorum) as admin:
        admin.wait_decides()
    return time.perf_counter() - begun_at


def write_snapshot(quorum: Quorum, node: ControllerNode, topic_count: int) -> Path:
    """One that has all of them."""
    restart(quorum, node, AT_ONCE)

    def newest() -> Path:
        return max(node.metadata.glob("*.checkpoint"))

    until(lambda: len(checkpoint_image(newest()).topics) == topic_count, "a snapshot of all topics")
    return newest()


def main(arguments: Sequence[str]) -> None:
    topic_count = int(arguments[0]) if arguments else 10_000
    partitions = int(arguments[1]) if len(arguments) > 1 else 3
    single_count = topic_count // 10
    names = [f"topic-{number:06}" for number in range(topic_count)]
    with tempfile.TemporaryDirectory() as directory, controllers(Path(directory), 1) as quorum:
        node = quorum[quorum.wait_active()]
        with FakeBrokers(quorum.links):
            empty_kib = node.resident_kib()
            single_s = create_all(node, names[:single_count], 1, partitions)
            batched_s = create_all(node, names[single_count:], PER_REQUEST, partitions)
            full_kib = node.resident_kib()
        log_s = min(restart(quorum, node, {}) for _ in range(RESTARTS))
        snapshot = write_snapshot(quorum, node, topic_count)
        size_bytes = snapshot.stat().st_size
        snapshot_s = [restart(quorum, node, {}) for _ in range(RESTARTS)]
        restarted_kib = node.resident_kib()
    rows = (
        ("all of them created", f"{single_s + batched_s:.1f} s"),
        ("one a request", f"{single_count / single_s:,.0f} topics/s"),
        (f"{PER_REQUEST} a request", f"{(topic_count - single_count) / batched_s:,.0f} topics/s"),
        ("memory of the process, empty", f"{empty_kib / 1024:.0f} MiB"),
        ("with all of them", f"{full_kib / 1024:.0f} MiB"),
        ("restarted with all of them", f"{restarted_kib / 1024:.0f} MiB"),
        ("start to first decision, from the log", f"{log_s:.1f} s"),
        ("from the snapshot, best and worst", f"{min(snapshot_s):.1f}, {max(snapshot_s):.1f} s"),
        ("size of the snapshot", f"{size_bytes / 2**20:.1f} MiB"),
    )
    print(f"{topic_count:,} topics of {partitions} partitions and {REPLICAS} replicas\n")
    print("| what | |\n|---|---|")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main(sys.argv[1:])
