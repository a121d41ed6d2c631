"""How often the ISR of a partition that this broker leads became smaller or larger."""

from collections.abc import Iterator
from typing import Final

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import Image
from barnabas_core.runtime.metrics.definition import counter
from barnabas_core.runtime.metrics.registry import Figure

SHRINKS: Final = counter(
    "barnabas_isr_shrinks_total",
    "Replicas fell out of sync, in partitions that this broker leads.",
    jmx="kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
)
EXPANDS: Final = counter(
    "barnabas_isr_expands_total",
    "Replicas came into sync again, in partitions that this broker leads.",
    jmx="kafka.server:type=ReplicaManager,name=IsrExpandsPerSec",
)
METRICS: Final = (SHRINKS, EXPANDS)


class IsrChanges:
    """Counted when they are committed: what was only proposed did not happen."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self.shrink_count = 0
        self.expand_count = 0

    def on_delta(self, delta: Delta, before: Image, after: Image) -> None:
        for topic_id, indexes in delta.topics.changed.items():
            old, new = before.topics.get(topic_id), after.topics.get(topic_id)
            if old is None or new is None:
                continue
            for index in indexes:
                was, now = old.partitions.get(index), new.partitions[index]
                if was is not None and now.leader == was.leader == self._node_id:
                    self.shrink_count += any(one not in now.isr for one in was.isr)
                    self.expand_count += any(one not in was.isr for one in now.isr)

    def __call__(self) -> Iterator[Figure]:
        yield Figure(SHRINKS, (), self.shrink_count)
        yield Figure(EXPANDS, (), self.expand_count)
