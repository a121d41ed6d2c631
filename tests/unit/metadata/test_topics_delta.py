"""Topics that change more than once within one delta."""

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import NOWHERE, Image
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.support.metadata_history import image_of

OLD, NEW = b"old-" * 4, b"new-" * 4


def created(topic_id: bytes, name: str = "orders") -> list[Message]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        PartitionRecord(
            partition_id=0,
            topic_id=topic_id,
            replicas=[1, 2],
            isr=[1],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            eligible_leader_replicas=[2],
            last_known_elr=[2],
        ),
    ]


def elr_of(image: Image, topic_id: bytes) -> tuple[int, ...]:
    partition = image.topics.partition(topic_id, 0)
    assert partition is not None
    return partition.eligible_leader_replicas


def test_a_topic_that_comes_back_under_its_name_is_another_one() -> None:
    before = image_of(created(OLD))

    delta = Delta(before)
    for record in (RemoveTopicRecord(topic_id=OLD), *created(NEW)):
        delta.replay(record)
    after = delta.apply(NOWHERE)

    assert after.topics.id_by_name == {"orders": NEW}
    assert list(after.topics.by_id) == [NEW]
    assert list(delta.topics.deleted) == [OLD]
    assert delta.topics.changed == {NEW: {0: None}}


def test_a_topic_created_and_removed_within_a_delta_leaves_nothing() -> None:
    delta = Delta(image_of([]))
    for record in (*created(NEW), RemoveTopicRecord(topic_id=NEW)):
        delta.replay(record)

    assert len(delta.apply(NOWHERE).topics) == 0
    assert delta.topics.deleted == {}
    assert delta.topics.changed == {}


def test_the_configs_of_a_topic_go_with_it() -> None:
    config = ConfigRecord(resource_type=2, resource_name="orders", name="x", value="1")
    before = image_of([*created(OLD), config])

    after = image_of([RemoveTopicRecord(topic_id=OLD), *created(NEW)], before)

    assert after.configs == {}


def test_a_change_within_the_same_delta_adds_to_the_partition_just_created() -> None:
    change = PartitionChangeRecord(partition_id=0, topic_id=NEW, isr=[1, 2], leader=2)

    image = image_of([*created(NEW), change])

    partition = image.topics.partition(NEW, 0)
    assert partition is not None
    assert (partition.isr, partition.leader) == ((1, 2), 2)
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 1)


def test_clearing_all_eligible_leaders_reaches_topics_old_and_new() -> None:
    before = image_of([*created(b"1" * 16, "one"), *created(OLD)])

    records = (
        RemoveTopicRecord(topic_id=OLD),
        *created(NEW),
        *created(b"2" * 16, "two"),
        ClearElrRecord(),
    )
    after = image_of(records, before)

    assert [elr_of(after, each) for each in (b"1" * 16, b"2" * 16, NEW)] == [(), (), ()]


def test_clearing_the_eligible_leaders_of_one_topic_leaves_the_others() -> None:
    before = image_of([*created(b"1" * 16, "one"), *created(OLD)])

    after = image_of([ClearElrRecord(topic_name="one")], before)

    assert elr_of(after, b"1" * 16) == ()
    assert elr_of(after, OLD) == (2,)
