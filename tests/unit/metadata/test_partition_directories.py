from barnabas_core.metadata.partition_image import MIGRATING_DIRECTORY, PartitionImage
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def partition(*directories: bytes) -> PartitionImage:
    record = PartitionRecord(replicas=[1, 2], isr=[1], leader=1, directories=list(directories))
    return PartitionImage.from_record(record)


def test_replicas_of_a_log_without_directories_have_one_each_after_a_change() -> None:
    changed = partition().merged(PartitionChangeRecord(replicas=[1, 2, 3]))

    assert changed.directories == (MIGRATING_DIRECTORY,) * 3


def test_directories_that_a_change_does_not_name_stay_in_their_places() -> None:
    changed = partition(A, B).merged(PartitionChangeRecord(replicas=[1, 3]))

    assert changed.directories == (A, B)


def test_a_change_of_replicas_brings_their_directories() -> None:
    record = PartitionChangeRecord(replicas=[1, 2, 3], directories=[A, B, C])

    assert partition(A, B).merged(record).directories == (A, B, C)
