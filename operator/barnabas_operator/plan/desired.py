"""What a KafkaCluster asks for, as far as plans depend on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas_operator.plan.observed import Role


@dataclass(frozen=True, slots=True)
class PoolWish:
    """One StatefulSet."""

    name: str
    roles: frozenset[Role]
    first_node_id: int
    replicas: int
    present_replicas: int
    """Places that it has now; what is to go is emptied first."""
    end_node_id: int
    """The range of ids that it was given once ends before this one."""

    def node_id(self, ordinal: int) -> int:
        return self.first_node_id + ordinal

    @property
    def wanted_ids(self) -> range:
        return range(self.first_node_id, self.first_node_id + self.replicas)

    @property
    def leaving_ids(self) -> range:
        return range(self.node_id(self.replicas), self.node_id(self.present_replicas))


@dataclass(frozen=True, slots=True)
class Desired:
    pools: tuple[PoolWish, ...]
    dynamic_config: Mapping[str, str | None] = field(default_factory=dict)
    """None: left as it is."""
    features: Mapping[str, int] = field(default_factory=dict)
    """Least levels, once every node has the binaries for them."""
    max_unavailable_per_rack: int = 1
    is_paused: bool = False

    def ids(self, role: Role) -> frozenset[int]:
        return frozenset(
            one for pool in self.pools if role in pool.roles for one in pool.wanted_ids
        )

    def leaving(self, role: Role) -> frozenset[int]:
        return frozenset(
            one for pool in self.pools if role in pool.roles for one in pool.leaving_ids
        )
