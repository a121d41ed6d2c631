"""How long a node waits: Kafka's `controller.quorum.*` settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftConfig:
    election_timeout_ms: int = 1000
    """Without news of a leader for this long, and up to twice that by chance, a voter stands."""
    fetch_timeout_ms: int = 2000
    """After this long, and up to a quarter more by chance, a voter gives its leader up; a leader
    without fetches from a majority itself (x 1.5)."""
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 << 20
    snapshot_max_bytes: int = 1 << 20
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    auto_join: bool = False
    observer_session_ms: int = 300_000

    @property
    def check_quorum_timeout_ms(self) -> int:
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_quorum_epoch_interval_ms(self) -> int:
        return self.fetch_timeout_ms // 2

    @property
    def fetch_spread_ms(self) -> int:
        """By so much at most two followers differ that heard the last of their leader together."""
        return max(self.fetch_timeout_ms // 4, 1)

    @property
    def voter_upkeep_interval_ms(self) -> int:
        return self.fetch_timeout_ms
