"""Changes to partitions, against the records that Kafka 4.3.1 makes of the same ones.

`vectors/ChangeVectors.java` draws them and asks Kafka's own class. One difference is meant: a
broker that is no replica any more leaves the ELR, where Kafka keeps it until the ELR next changes.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from barnabas_controller.managers.partitions.change import (
    Rules,
    Surroundings,
    Target,
    change_partition,
)
from barnabas_controller.managers.partitions.election import Election
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_core.metadata.partition_image import MIGRATING_DIRECTORY, PartitionImage
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord

VECTORS = Path(__file__).parent / "vectors" / "change.jsonl.gz"
FIRST_LEVEL_WITH_DIRECTORIES = 17
KEY = PartitionKey(b"a topic's own id", 7)


def directory(broker_id: int) -> bytes:
    return (1000).to_bytes(8) + broker_id.to_bytes(8)


def partition_of(case: dict[str, Any]) -> PartitionImage:
    fields = case["partition"]
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    directories = tuple(
        directory(broker_id)
        if case["level"] >= FIRST_LEVEL_WITH_DIRECTORIES
        else MIGRATING_DIRECTORY
        for broker_id in fields["replicas"]
    )
    return PartitionImage(**{**fields, **lists, "directories": directories})


def kafkas_record(case: dict[str, Any]) -> PartitionChangeRecord:
    """What Kafka wrote, but for the ELR of brokers that are no replicas, and in our order."""
    fields = dict(case["record"] or {})
    if fields.get("directories") is not None:
        fields["directories"] = [directory(broker_id) for broker_id in fields["directories"]]
    record = PartitionChangeRecord(KEY.partition, KEY.topic_id, **fields)
    old = partition_of(case)
    new = old.merged(record)
    eligible = tuple(sorted(b for b in new.eligible_leader_replicas if b in new.replicas))
    record.eligible_leader_replicas = (
        None if eligible == old.eligible_leader_replicas else list(eligible)
    )
    return record


def our_record(case: dict[str, Any]) -> PartitionChangeRecord:
    target = dict(case["target"])
    election = Election(target.pop("election"))
    rules = Rules(
        min_isr=case["min_isr"],
        allows_unclean=election is Election.UNCLEAN,
        has_elr=case["elr"],
        has_directories=case["level"] >= FIRST_LEVEL_WITH_DIRECTORIES,
        names_leader_on_isr_shrink=case["level"] < 12,
    )
    around = Surroundings(case["alive"].__contains__, directory)
    partition = partition_of(case)
    record = change_partition(KEY, partition, Target(election, **target), rules, around)
    return record or PartitionChangeRecord(KEY.partition, KEY.topic_id)


def test_every_change_gives_the_record_that_kafka_writes() -> None:
    cases = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]

    different = [case for case in cases if our_record(case) != kafkas_record(case)]

    assert different == []
    assert len(cases) == 3000
    assert sum(case["record"] is None for case in cases) > 300
