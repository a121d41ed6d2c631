"""What a broker is told at its start. Names follow Kafka's properties."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas_core.log.log_config import LogConfig
from barnabas_core.server.endpoint import EndpointConfig

if TYPE_CHECKING:
    from barnabas_core.log.cleaner.settings import CleanerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    node_id: int = 1
    log_dirs: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 9092
    advertised_host: str | None = None
    """None: the host it listens on."""
    rack: str | None = None
    auto_create_topics: bool = True
    partition_count: int = 1
    """`num.partitions` of topics that are created by being asked for."""
    topic_defaults: LogConfig = field(default_factory=LogConfig)
    fetch_bytes_max: int = 55 * 1024 * 1024
    endpoint: EndpointConfig = field(default_factory=EndpointConfig)
    cleaner: "CleanerSettings | None" = None
    """None: Kafka's defaults."""
    retention_check_interval_ms: int = 300_000
    checkpoint_interval_ms: int = 60_000
    flush_check_interval_ms: int = 1_000
    producer_expiration_ms: int = 86_400_000
    producer_expiration_check_interval_ms: int = 600_000
