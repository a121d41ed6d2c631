"""What an embedded cluster is told at its start."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.cluster_error import ClusterError
from barnabas_core.config.listener import EVERY_ADDRESS
from barnabas_core.runtime.log_setup import EventLog


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    data: str | None = None
    """Where everything is kept; None: in a temporary directory that is removed at the end."""
    host: str = "127.0.0.1"
    port: int = 0
    """0: free ones. Otherwise the brokers count up from it."""
    advertised_host: str | None = None
    brokers: int = 1
    config: Mapping[str, str] = field(default_factory=dict)
    """Kafka's broker properties, for all brokers alike."""
    log: EventLog = field(default_factory=lambda: EventLog(level="warning"))
    metrics_port: int | None = None
    """Where figures are given to Prometheus, on `host`; 0: a free one; None: nowhere."""
    with_faults: bool = True
    """False: nothing can stand before a handler, and nothing is paid for it."""

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise ClusterError(f"a cluster has at least one broker, not {self.brokers}")

    @property
    def told_host(self) -> str:
        """What clients are told."""
        return self.advertised_host or ("127.0.0.1" if self.host in EVERY_ADDRESS else self.host)
