"""Which partitions this broker keeps, by topic name and number."""

from collections.abc import Callable, Iterator

from barnabas_broker.partitions.partition import Partition
from barnabas_core.ports import DiskError


class Partitions:
    def __init__(self, on_failed: Callable[[Partition, DiskError], None]) -> None:
        self._partitions: dict[tuple[str, int], Partition] = {}
        self.fail = on_failed
        """To be called with whatever `DiskError` an operation on a partition's log ends with."""

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def add(self, partition: Partition) -> None:
        self._partitions[partition.log.topic, partition.log.partition] = partition

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def remove(self, topic: str, index: int) -> Partition | None:
        return self._partitions.pop((topic, index), None)
