"""What a plan asks for. Each is harmless when it is done twice, or when it comes too late."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Restart:
    """Delete this very pod, if the active controller permits it."""

    node_id: int
    pod_name: str
    pod_uid: str
    needs_permit: bool
    """Not for what does not run."""
    coordinator_role: str = ""
    peer_count: int = 0
    """Of a coordinator: how many others of its role there should be."""


@dataclass(frozen=True, slots=True)
class MoveLeaders:
    """Away from a broker whose host is to go."""

    node_id: int


@dataclass(frozen=True, slots=True)
class AddVoter:
    node_id: int
    directory_id: bytes


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    node_id: int
    directory_id: bytes


@dataclass(frozen=True, slots=True)
class Cordon:
    """No new replicas for a broker that leaves, or again for one that stays after all."""

    node_id: int
    is_cordoned: bool


@dataclass(frozen=True, slots=True)
class Move:
    topic: str
    number: int
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reassign:
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    node_id: int


@dataclass(frozen=True, slots=True)
class SetDynamicConfig:
    """Of all brokers. A value of None gives back the default."""

    changes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class UpdateFeatures:
    levels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ElectPreferred:
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ExpandClaim:
    name: str
    to_bytes: int


@dataclass(frozen=True, slots=True)
class MarkSpread:
    """To be kept in the status: these brokers have their share."""

    node_ids: frozenset[int]


Action = (
    Restart
    | MoveLeaders
    | AddVoter
    | RemoveVoter
    | Cordon
    | Reassign
    | UnregisterBroker
    | SetDynamicConfig
    | UpdateFeatures
    | ElectPreferred
    | ExpandClaim
    | MarkSpread
)
