"""Metadata of many topics: to replay it, to keep it, to change a little of it, to write it down.

usage: metadata.py [topics] [partitions]

10,000 topics of 3 partitions unless told otherwise. Prints one table. Times are of the processor,
the best of several rounds, but for the longest step of a snapshot, which is the worst of one.
"""

import gc
import sys
import time
import timeit
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from random import Random

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import EMPTY_IMAGE, NOWHERE, Image
from barnabas_core.metadata.record import decode_record
from barnabas_core.metadata.snapshot import encode_at_level, record_batches
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message

LEVEL = 30
ROUNDS = 5
BROKERS = range(1, 7)


def records(topic_count: int, partition_count: int, seed: int = 1) -> Iterator[Message]:
    random = Random(seed)
    directories = {broker: random.randbytes(16) for broker in BROKERS}
    yield FeatureLevelRecord(name="metadata.version", feature_level=LEVEL)
    for topic in range(topic_count):
        topic_id = random.randbytes(16)
        yield TopicRecord(name=f"topic-{seed}-{topic:06}", topic_id=topic_id)
        for number in range(partition_count):
            replicas = random.sample(BROKERS, 3)
            yield PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=replicas,
                isr=list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[directories[broker] for broker in replicas],
            )


def replay(values: Sequence[bytes]) -> Image:
    delta = Delta(EMPTY_IMAGE)
    for value in values:
        delta.replay(decode_record(value))
    return delta.apply(NOWHERE)


def best_seconds(act: Callable[[], object], number: int = 1) -> float:
    """Of one call, with the garbage collector off, as a node freezes what it has loaded."""
    return min(timeit.repeat(act, timer=time.process_time, number=number, repeat=ROUNDS)) / number


def image_bytes(values: Sequence[bytes]) -> int:
    gc.collect()
    tracemalloc.start()
    image = replay(values)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(image.topics)
    return size


def change_one_partition(image: Image) -> Callable[[], object]:
    topic_id = next(iter(image.topics)).id

    def act() -> None:
        delta = Delta(image)
        delta.replay(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=2))
        delta.apply(NOWHERE)

    return act


def create_one_topic(image: Image) -> Callable[[], object]:
    new = list(records(1, 3, seed=2))[1:]

    def act() -> None:
        delta = Delta(image)
        for record in new:
            delta.replay(record)
        delta.apply(NOWHERE)

    return act


def longest_step_seconds(image: Image) -> float:
    """A snapshot is written a batch at a time, with other work in between."""
    longest = 0.0
    batches = record_batches(image)
    while True:
        begun_at = time.process_time()
        if next(batches, None) is None:
            return longest
        longest = max(longest, time.process_time() - begun_at)


def main(arguments: Sequence[str]) -> None:
    topic_count = int(arguments[0]) if arguments else 10_000
    partition_count = int(arguments[1]) if len(arguments) > 1 else 3
    values = [encode_at_level(each, LEVEL) for each in records(topic_count, partition_count)]
    size = image_bytes(values)
    image = replay(values)
    gc.collect()
    gc.freeze()
    replay_s = best_seconds(lambda: replay(values))
    snapshot_s = best_seconds(lambda: sum(map(len, record_batches(image))))
    rows = (
        ("replay, decoding included", f"{len(values) / replay_s:,.0f} records/s"),
        ("replay of all of it", f"{replay_s * 1e3:.0f} ms"),
        ("memory", f"{size / topic_count / partition_count:.0f} bytes/partition"),
        ("memory of all of it", f"{size / 2**20:.1f} MiB"),
        ("one partition changes", f"{best_seconds(change_one_partition(image), 100) * 1e6:.0f} µs"),
        ("one topic is created", f"{best_seconds(create_one_topic(image), 100) * 1e6:.0f} µs"),
        ("snapshot, encoded", f"{snapshot_s * 1e3:.0f} ms"),
        ("its longest step", f"{longest_step_seconds(image) * 1e3:.1f} ms"),
        ("its size", f"{sum(map(len, values)) / 2**20:.1f} MiB"),
    )
    print(f"{topic_count:,} topics of {partition_count} partitions, {len(values):,} records\n")
    print("| what | |\n|---|---|")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


if __name__ == "__main__":
    main(sys.argv[1:])
