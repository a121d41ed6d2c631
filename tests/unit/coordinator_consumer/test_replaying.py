"""Records bring back the same group, also from a log that was compacted."""

from barnabas_coordinator.group.consumer.member import MemberState
from barnabas_coordinator.shard.decision import Record
from barnabas_core.wire.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_partition_metadata_value import (
    ConsumerGroupPartitionMetadataValue,
)
from tests.support.consumer_lab import Consumer, ConsumerLab, durable, settle


def compacted(log: list[tuple[bytes, bytes | None]]) -> list[tuple[bytes, bytes | None]]:
    """The last record of every key, where it stands; deleted ones are gone."""
    last = {key: at for at, (key, _) in enumerate(log)}
    return [
        (key, value) for at, (key, value) in enumerate(log) if last[key] == at and value is not None
    ]


def test_a_compacted_log_brings_back_the_same_group(lab: ConsumerLab) -> None:
    lab.add_topic("u", 3)
    members = [Consumer(lab, f"m{number}", ("t", "u")) for number in range(4)]
    for one in members:
        settle(lab, *members[: members.index(one) + 1])
    members.pop(1).leave()
    settle(lab, *members)
    members[0].topics = ("u",)
    settle(lab, *members)

    lab.log = compacted(lab.log)

    assert durable(lab.loaded()) == durable(lab.machine)


def test_a_member_that_holds_and_revokes_is_brought_back_with_both(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a", is_slow=True), Consumer(lab, "b")
    first.beat()
    second.beat()
    first.beat()

    lab.reload()

    assert lab.state_of("a") is MemberState.UNREVOKED_PARTITIONS
    assert lab.group.members["a"].revoking
    assert len(lab.group.owners[next(iter(lab.group.owners))]) == 4


def test_what_releases_before_the_hash_wrote_is_deleted_with_the_next_epoch(
    lab: ConsumerLab,
) -> None:
    key = ConsumerGroupPartitionMetadataKey("group")
    lab._append(Record(key, ConsumerGroupPartitionMetadataValue()))

    lab.beat("m")

    assert Record(key, None) in lab.new_records
    assert not lab.group.has_partition_metadata


def test_a_tombstone_of_a_group_that_is_not_there_is_nothing(lab: ConsumerLab) -> None:
    lab.beat("m")
    tombstones = lab.group.tombstones()

    # Backwards, too: the group's own, the last, hides whatever the others may have made.
    for record in [*tombstones, *reversed(tombstones)]:
        lab._append(record)

    assert lab.machine.state.groups == {}
