"""What the record of a change holds, where Kafka's records do not say it all."""

from barnabas_controller.managers.partitions.change import (
    Rules,
    Surroundings,
    Target,
    change_partition,
)
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERED, PartitionImage
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord

KEY = PartitionKey(b"a topic's own id", 3)
A, B, C, NEW = b"a" * 16, b"b" * 16, b"c" * 16, b"n" * 16
PARTITION = PartitionImage(
    replicas=(1, 2, 3),
    directories=(A, B, C),
    isr=(1, 2, 3),
    removing_replicas=(),
    adding_replicas=(),
    eligible_leader_replicas=(),
    last_known_elr=(),
    leader=1,
    leader_recovery_state=RECOVERED,
    leader_epoch=5,
    partition_epoch=8,
)
AROUND = Surroundings((1, 2, 3, 4).__contains__, lambda _: NEW)
RULES = Rules(min_isr=2, allows_unclean=False)


def test_nothing_to_change_is_no_record() -> None:
    assert change_partition(KEY, PARTITION, Target(), RULES, AROUND) is None


def test_a_record_holds_only_what_changes() -> None:
    record = change_partition(KEY, PARTITION, Target(isr=[1, 3]), RULES, AROUND)

    assert record == PartitionChangeRecord(KEY.partition, KEY.topic_id, isr=[1, 3])


def test_a_new_replica_gets_the_default_directory_of_its_broker() -> None:
    target = Target(replicas=[4, 1, 2, 3], adding_replicas=[4])

    record = change_partition(KEY, PARTITION, target, RULES, AROUND)

    assert record is not None
    assert record.directories == [NEW, A, B, C]


def test_a_cluster_without_directories_writes_none() -> None:
    rules = Rules(min_isr=2, allows_unclean=False, has_directories=False)
    target = Target(replicas=[4, 1, 2, 3], adding_replicas=[4])

    record = change_partition(KEY, PARTITION, target, rules, AROUND)

    assert record is not None
    assert record.directories is None


def test_a_cluster_that_gave_up_elr_clears_it_with_the_next_change() -> None:
    rules = Rules(min_isr=2, allows_unclean=False, has_elr=False)
    partition = PARTITION._replace(isr=(1,), eligible_leader_replicas=(2,))

    record = change_partition(KEY, partition, Target(isr=[1, 3]), rules, AROUND)

    assert record is not None
    assert (record.isr, record.eligible_leader_replicas) == ([1, 3], [])


def test_who_is_no_replica_any_more_is_not_eligible() -> None:
    partition = PARTITION._replace(isr=(1, 3), removing_replicas=(3,), replicas=(1, 2, 3))
    target = Target(replicas=[1, 2], removing_replicas=(), isr=[1])

    record = change_partition(KEY, partition, target, RULES, AROUND)

    assert record is not None
    assert record.eligible_leader_replicas is None


def test_a_leaderless_partition_keeps_its_last_known_leader() -> None:
    partition = PARTITION._replace(
        isr=(), leader=NO_LEADER, eligible_leader_replicas=(2,), last_known_elr=(2,)
    )
    around = Surroundings(lambda _: False, lambda _: NEW)

    record = change_partition(KEY, partition, Target(unclean_shutdown=2), RULES, around)

    assert record == PartitionChangeRecord(KEY.partition, KEY.topic_id, eligible_leader_replicas=[])
