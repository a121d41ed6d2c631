"""What a coordinator needs to tell of itself, besides what it is."""

from dataclasses import dataclass, field

from barnabas_coordinator.group.group_counts import GroupCounts


@dataclass(frozen=True, slots=True)
class ObservationConfig:
    node_id: int = -1
    series_max: int = 0
    """How many groups, and how many committed offsets, are told one by one:
    `metrics.group.partitions.max`."""
    counts: GroupCounts = field(default_factory=GroupCounts)
    """Of all its shards."""
