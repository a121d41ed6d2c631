"""What a decision may read, and what it returns.

    def decide_something(view: View, request: SomeRequest, context: Context) -> Result[SomeResponse]

A decision changes nothing. Its records are appended and replayed (by `barnabas_core.metadata`), and
its response leaves when they are committed. `view.image` holds what is committed and what is
pending; if this controller resigns, pending records and their responses are dropped together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barnabas_controller.managers.liveness import BrokerLiveness
from barnabas_controller.managers.replica_index import ReplicaIndex
from barnabas_core.metadata.image import Image
from barnabas_core.ports import Rng
from barnabas_core.wire.schema import Message

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Result(Generic[R_co]):
    """Records to append, all or none, and the answer for when they are committed."""

    records: Sequence[Message]
    response: R_co


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """What a controller is told at its start; the names are Kafka's properties."""

    node_id: int
    cluster_id: str
    default_replication_factor: int = 1
    partition_count: int = 1
    """`num.partitions`."""
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    delete_topics: bool = True
    """`delete.topic.enable`."""
    broker_session_timeout_ms: int = 9_000
    broker_heartbeat_interval_ms: int = 2_000
    leader_imbalance_percent: int = 10
    leader_imbalance_check_interval_ms: int = 300_000
    auto_leader_rebalance: bool = True
    unclean_recovery_interval_ms: int = 300_000
    max_records_per_decision: int = 10_000
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """The controller's own properties file, as text: synonyms of topic configs come from there."""


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, and at which version."""

    api_version: int
    principal: str = "User:ANONYMOUS"
    client_host: str = ""
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class QuorumFacts:
    """What the quorum knows and the image does not: its records are control records."""

    kraft_version: int = 0
    voter_ids: tuple[int, ...] = ()


@dataclass(slots=True)
class View:
    image: Image
    replicas: ReplicaIndex
    liveness: BrokerLiveness
    settings: ControllerSettings
    rng: Rng
    now_ms: int
    """Wall time, for records."""
    monotonic_ms: int
    """For sessions and timers."""
    next_offset: int
    """Where the first record of this decision will lie: a registration's broker epoch."""
    quorum: QuorumFacts = QuorumFacts()
