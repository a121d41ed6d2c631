"""What a broker applies first, and in what steps it goes on."""

import asyncio

from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.snapshot import encode_at_level
from barnabas_core.raft import SnapshotId
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.support.metadata_history import LATEST_LEVEL

ID = b"t" * 16


def batch(base_offset: int, *records: Message) -> CommittedBatch:
    values = [memoryview(encode_at_level(record, LATEST_LEVEL)) for record in records]
    return CommittedBatch(base_offset, base_offset + len(values), 1, 0, values)


def replicas_of(image: Image) -> tuple[int, ...]:
    return image.topics.by_id[ID].partitions[0].replicas


async def applied_by(
    applier: MetadataApplier, seen: list[tuple[Delta, Image]], offset: int
) -> None:
    run = asyncio.get_running_loop().create_task(applier.run())
    await asyncio.wait_for(applier.wait_applied(offset), 10)
    run.cancel()
    assert seen


def test_a_broker_that_starts_never_applies_a_snapshot_that_is_older_than_what_it_keeps() -> None:
    async def main() -> None:
        seen: list[tuple[Delta, Image]] = []

        async def apply(delta: Delta, image: Image) -> None:
            seen.append((delta, image))

        applier = MetadataApplier(apply)
        partition = PartitionRecord(0, ID, replicas=[1], isr=[1], leader=1)
        applier.on_snapshot_begin(SnapshotId(10, 1))
        applier.on_batch(batch(0, TopicRecord("orders", ID), partition))
        applier.on_snapshot_end()
        applier.on_batch(batch(10, PartitionChangeRecord(0, ID, replicas=[1, 2])))

        assert replicas_of(applier.catch_up()) == (1, 2)
        await applied_by(applier, seen, 10)

        [(delta, image)] = seen
        assert delta.base is EMPTY_IMAGE
        assert delta.topics.changed == {ID: {0: None}}
        assert replicas_of(image) == (1, 2)

    asyncio.run(main())


def test_what_comes_later_is_applied_on_top() -> None:
    async def main() -> None:
        seen: list[tuple[Delta, Image]] = []

        async def apply(delta: Delta, image: Image) -> None:
            seen.append((delta, image))

        applier = MetadataApplier(apply)
        partition = PartitionRecord(0, ID, replicas=[1], isr=[1], leader=1)
        applier.on_batch(batch(0, TopicRecord("orders", ID), partition))
        applier.catch_up()
        applier.on_batch(batch(2, PartitionChangeRecord(0, ID, replicas=[2])))
        await applied_by(applier, seen, 2)

        assert [replicas_of(image) for _, image in seen] == [(1,), (2,)]
        assert seen[1][0].base is seen[0][1]

    asyncio.run(main())


def test_the_kraft_version_holds_until_another_is_told() -> None:
    async def main() -> None:
        async def apply(_delta: Delta, _image: Image) -> None: ...

        applier = MetadataApplier(apply)
        assert applier.kraft_version == 0

        applier.on_batch(CommittedBatch(0, 1, 1, 0, [], kraft_version=1))
        applier.on_batch(CommittedBatch(1, 2, 1, 0, []))

        assert applier.kraft_version == 1

    asyncio.run(main())
