"""What a broker is told at its start. Names follow Kafka's properties."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas_broker.lifecycle import LifecycleConfig
from barnabas_broker.replication.replication import ReplicationConfig
from barnabas_core.config.listener import Listener
from barnabas_core.ports.link import Address
from barnabas_core.server.endpoint import EndpointConfig

if TYPE_CHECKING:
    from barnabas_core.log.cleaner.settings import CleanerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    node_id: int
    cluster_id: str
    log_dirs: tuple[str, ...]
    listeners: tuple[Listener, ...]
    """For clients; port 0 takes a free one."""
    advertised: tuple[Listener, ...] = ()
    """What clients are told; empty: where it listens. Port 0 is the one that was bound."""
    internal: Address
    """Where links from other brokers are served; port 0 takes a free one."""
    internal_host: str = ""
    """What other brokers are told; empty: where it listens."""
    controllers: tuple[Address, ...]
    """Links of controllers, any of which knows the active one."""
    rack: str | None = None
    static_configs: Mapping[str, str] = field(default_factory=dict)
    """The properties as text: defaults of topics, and what DescribeConfigs tells."""
    auto_create_topics: bool = True
    fetch_bytes_max: int = 55 * 1024 * 1024
    described_partition_count_max: int = 2_000
    """`max.request.partition.size.limit`."""
    fetch_session_slots: int = 1000
    is_rack_aware: bool = False
    """Whether consumers are sent to replicas in their rack."""
    endpoint: EndpointConfig = field(default_factory=EndpointConfig)
    lifecycle: LifecycleConfig = field(default_factory=LifecycleConfig)
    has_remote_coordinators: bool = False
    """`coordinator.mode=remote`: shards are leased to those that register with the controllers."""
    local_coordinator: Address | None = None
    """The one in this process, where there is one. Neither: there are no groups."""
    replication: ReplicationConfig = field(default_factory=ReplicationConfig)
    controlled_shutdown: bool = True
    telemetry_bytes_max: int = 1024 * 1024
    """Of metrics that a client pushes at once."""
    shutdown_timeout_ms: int = 10_000
    """For leadership to move away before the broker stops."""
    cleaner: "CleanerSettings | None" = None
    """None: Kafka's defaults."""
    retention_check_interval_ms: int = 300_000
    checkpoint_interval_ms: int = 60_000
    flush_check_interval_ms: int = 1_000
    producer_expiration_ms: int = 86_400_000
    producer_expiration_check_interval_ms: int = 600_000
