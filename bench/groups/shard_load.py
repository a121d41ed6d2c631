"""Offsets of many groups, loaded: from the batches of a log to the state of a shard.

usage: python -m bench.groups.shard_load [records] [groups]

1,000,000 records of 1,000 groups unless told otherwise, each group with offsets of ten topics, in
batches of 100 as a busy coordinator writes them. Prints one table. Times are of the processor.
"""

import gc
import resource
import sys
import time
from collections.abc import Iterator

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.shard.decision import Env, Record
from barnabas_coordinator.shard.record_codec import encode_record
from barnabas_core.metadata.image import EMPTY_IMAGE
from barnabas_core.records.builder import build_batch
from barnabas_core.records.record import iter_records
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue

NOW_MS = 1_800_000_000_000
TOPICS = 10
BATCH = 100
ENV = Env(NOW_MS, 0, EMPTY_IMAGE, SeededRng(1))


def records(record_count: int, group_count: int) -> Iterator[Record]:
    """No key twice: nothing is compacted away."""
    for number in range(record_count):
        place, group = divmod(number, group_count)
        partition, topic = divmod(place, TOPICS)
        yield Record(
            OffsetCommitKey(f"consumers-of-{group:05}", f"topic-{topic:03}", partition),
            OffsetCommitValue(
                offset=number * 1_000,
                leader_epoch=5,
                commit_timestamp=NOW_MS + number,
                topic_id=topic.to_bytes(16, "big"),
            ),
        )


def batches(record_count: int, group_count: int) -> Iterator[bytes]:
    waiting: list[tuple[bytes, bytes | None]] = []
    base = 0
    for record in records(record_count, group_count):
        waiting.append(encode_record(record))
        if len(waiting) == BATCH:
            yield bytes(build_batch(waiting, base_offset=base, timestamp_ms=NOW_MS))
            base += len(waiting)
            waiting = []
    if waiting:
        yield bytes(build_batch(waiting, base_offset=base, timestamp_ms=NOW_MS))


def load(log: list[bytes]) -> GroupShard:
    shard = GroupShard(GroupSettings())
    for batch in log:
        for one in iter_records(batch):
            assert one.key is not None
            shard.load(one.key, one.value, ENV)
    return shard


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> None:
    record_count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    group_count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    log = list(batches(record_count, group_count))
    gc.collect()
    before_bytes = resident_bytes()
    started = time.process_time()
    shard = load(log)
    seconds = time.process_time() - started
    kept_bytes = resident_bytes() - before_bytes
    started = time.process_time()
    gc.collect()
    collect_seconds = time.process_time() - started
    assert len(shard.state.offsets.group_ids()) == group_count
    print(
        "| records | MB of log | seconds | records/s | resident MB | bytes each | full collection |"
    )
    print("|---|---|---|---|---|---|---|")
    print(
        f"| {record_count:,} | {sum(map(len, log)) / 1e6:.0f} | {seconds:.1f} "
        f"| {record_count / seconds:,.0f} | {kept_bytes / 1e6:.0f} "
        f"| {kept_bytes / record_count:.0f} | {collect_seconds * 1e3:.0f} ms |"
    )


if __name__ == "__main__":
    main()
