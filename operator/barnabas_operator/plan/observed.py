"""What was seen in this round. `None` is "could not be asked", which never permits anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

DEAD_REASONS: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
        "Unschedulable",
    }
)
"""Why a container does not run; whatever does not run takes no harm from being deleted."""
UNREADY_LONG_MS: Final = 120_000
"""An election takes seconds. Controllers without a leader for this long will not find one."""


class Role(IntEnum):
    """In the order of a roll."""

    CONTROLLER = 0
    COORDINATOR = 1
    BROKER = 2


@dataclass(frozen=True, slots=True)
class PodState:
    name: str
    uid: str
    revision: str
    is_ready: bool = True
    is_terminating: bool = False
    waiting_reason: str = ""
    """Of Kubernetes, why its container does not run; "" if it runs."""
    unready_ms: int = 0
    host: str = ""

    @property
    def is_dead(self) -> bool:
        return self.waiting_reason in DEAD_REASONS


@dataclass(frozen=True, slots=True)
class Standing:
    """What a node says of itself (PostRestartCheck)."""

    is_back: bool
    reason: str = ""
    replica_count: int = 0


@dataclass(frozen=True, slots=True)
class NodeState:
    """One place of a StatefulSet, whether its pod is there or not."""

    node_id: int
    pool: str
    ordinal: int
    roles: frozenset[Role]
    wanted_revision: str
    pod: PodState | None = None
    rack: str = ""
    standing: Standing | None = None
    is_host_draining: bool = False
    """Kubernetes is about to take its host away."""
    absence: str = ""
    """Why its pod cannot be made, where Kubernetes has tried for a while."""

    @property
    def rank(self) -> Role:
        return min(self.roles)

    @property
    def is_current(self) -> bool:
        return self.pod is not None and self.pod.revision == self.wanted_revision

    @property
    def is_ready(self) -> bool:
        return self.pod is not None and self.pod.is_ready and not self.pod.is_terminating


@dataclass(frozen=True, slots=True)
class QuorumMember:
    node_id: int
    directory_id: bytes
    is_caught_up: bool = True


@dataclass(frozen=True, slots=True)
class QuorumState:
    leader_id: int
    voters: tuple[QuorumMember, ...]
    observers: tuple[QuorumMember, ...] = ()

    def voter(self, node_id: int) -> QuorumMember | None:
        return next((one for one in self.voters if one.node_id == node_id), None)

    def observer(self, node_id: int) -> QuorumMember | None:
        """As it is now: a voter that was removed is listed as its former self for a while."""
        found = [one for one in self.observers if one.node_id == node_id]
        return max(found, key=lambda one: one.is_caught_up, default=None)


@dataclass(frozen=True, slots=True)
class PartitionState:
    topic: str
    number: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    is_moving: bool = False
    """A reassignment of it is under way."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """As the controllers know it, whether Kubernetes has a pod for it or not."""

    node_id: int
    rack: str = ""
    is_fenced: bool = False
    is_cordoned: bool = False

    @property
    def takes_replicas(self) -> bool:
        """It lives, and is not about to go."""
        return not (self.is_fenced or self.is_cordoned)


@dataclass(frozen=True, slots=True)
class ClaimState:
    """A volume of a pod."""

    name: str
    requested_bytes: int
    capacity_bytes: int
    wanted_bytes: int


@dataclass(frozen=True, slots=True)
class Observed:
    nodes: tuple[NodeState, ...]
    quorum: QuorumState | None = None
    brokers: Mapping[int, BrokerState] | None = None
    partitions: tuple[PartitionState, ...] | None = None
    claims: tuple[ClaimState, ...] = ()
    dynamic_config: Mapping[str, str] | None = None
    """Of the default of all brokers, what is set while they run."""
    features: Mapping[str, int] | None = None
    spread_to: frozenset[int] = field(default_factory=frozenset)
    """From the status: brokers that got their share of what was there when they came."""
    leftover: tuple[str, ...] = ()
    """Pods whose places are gone, and that have not ended yet."""
