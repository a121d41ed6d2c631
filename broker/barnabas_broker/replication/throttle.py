"""How fast replicas that are behind may catch up (KIP-73).

A replica is throttled if its topic lists it (`leader.replication.throttled.replicas` where it is
sent, `follower.replication.throttled.replicas` where it arrives; `*` is all) and as long as it is
not in sync: whoever keeps up is never slowed down. The rates are those of this broker, for all of
its throttled replicas together. Pure: time is passed in.
"""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas_core.config.definition import Kind, definitions

LEADER: Final = "leader"
FOLLOWER: Final = "follower"
NO_LIMIT: Final = 2**63 - 1
_EVERY: Final = "*"


class ReplicationQuota:
    """Bytes a second. What was sent beyond them is paid for by waiting."""

    def __init__(self, bytes_per_s: int = NO_LIMIT) -> None:
        self.bytes_per_s = bytes_per_s
        self._debt_bytes = 0.0
        self._at_ms = 0

    def spend(self, size_bytes: int, now_ms: int) -> None:
        if self.bytes_per_s < NO_LIMIT:
            self._settle(now_ms)
            self._debt_bytes += size_bytes

    def delay_ms(self, now_ms: int) -> int:
        """How long to wait before the next bytes; a rate of 0 is asked again every second."""
        if self.bytes_per_s >= NO_LIMIT:
            return 0
        self._settle(now_ms)
        if self._debt_bytes <= 0:
            return 0 if self.bytes_per_s else 1_000
        return min(1_000, int(self._debt_bytes * 1000 / max(self.bytes_per_s, 1)) + 1)

    def _settle(self, now_ms: int) -> None:
        earned = (now_ms - self._at_ms) * self.bytes_per_s / 1000
        self._debt_bytes = max(0.0, self._debt_bytes - earned)
        self._at_ms = now_ms


class ReplicationThrottle:
    def __init__(self, topic_configs: Callable[[str], Mapping[str, str]]) -> None:
        """`topic_configs`: a topic's own, as the image has them now."""
        self._topic_configs = topic_configs
        self.quotas = {LEADER: ReplicationQuota(), FOLLOWER: ReplicationQuota()}

    def set_rates(self, properties: Mapping[str, str]) -> None:
        """The broker's properties as they count now; after a `ConfigError` the rates stay."""
        rates = {
            side: throttled_rate(properties, f"{side}.replication.throttled.rate")
            for side in self.quotas
        }
        for side, rate in rates.items():
            self.quotas[side].bytes_per_s = rate

    def is_listed(self, side: str, topic: str, partition: int, broker_id: int) -> bool:
        if self.quotas[side].bytes_per_s >= NO_LIMIT:
            return False
        listed = self._topic_configs(topic).get(f"{side}.replication.throttled.replicas", "")
        if not listed:
            return False
        return listed.strip() == _EVERY or f"{partition}:{broker_id}" in _entries(listed)


def throttled_rate(properties: Mapping[str, str], name: str) -> int:
    """Bytes a second, as the property says; `ConfigError` if it is no number."""
    text = properties.get(name)
    if text is None:
        return NO_LIMIT
    return int(str(definitions(Kind.BROKER_DYNAMIC_ONLY)[name].parse(text)))


def _entries(listed: str) -> list[str]:
    return [entry.strip() for entry in listed.split(",")]
