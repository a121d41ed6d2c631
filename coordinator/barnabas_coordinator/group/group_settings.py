"""How groups are run: the properties of Kafka's brokers that concern them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.records.compression import Compression

_ASSIGNORS: Final = "group.consumer.assignors"
_CODEC: Final = "offsets.topic.compression.codec"
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_CLASSIC: Final = "classic"
_CLASSES: Final = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""By which Kafka's own assignors may be named, too."""

# Field: property, where the name is not the field's with dots for underscores.
PROPERTIES: Final = {
    "min_session_timeout_ms": "group.min.session.timeout.ms",
    "max_session_timeout_ms": "group.max.session.timeout.ms",
    "initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_min_session_timeout_ms": "group.consumer.min.session.timeout.ms",
    "consumer_max_session_timeout_ms": "group.consumer.max.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_min_heartbeat_interval_ms": "group.consumer.min.heartbeat.interval.ms",
    "consumer_max_heartbeat_interval_ms": "group.consumer.max.heartbeat.interval.ms",
    "consumer_assignment_interval_ms": "group.consumer.assignment.interval.ms",
    "consumer_max_size": "group.consumer.max.size",
    "consumer_assignors": "group.consumer.assignors",
    "consumer_migration_policy": "group.consumer.migration.policy",
    "consumer_regex_refresh_interval_ms": "group.consumer.regex.refresh.interval.ms",
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
    "batch_bytes_max": "message.max.bytes",
    "compression": "offsets.topic.compression.codec",
    "producer_expiration_ms": "producer.id.expiration.ms",
    "rebalance_protocols": "group.coordinator.rebalance.protocols",
    "offsets_retention_minutes": "offsets.retention.minutes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Defaults are Kafka's. What a group has as a config of its own (`group` resource) counts."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_min_heartbeat_interval_ms: int = 5_000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    consumer_regex_refresh_interval_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    batch_bytes_max: int = 1_048_588
    """Of the shard's log: what is decided at once must fit."""
    compression: Compression = Compression.NONE
    """Of all that is written."""
    producer_expiration_ms: int = 86_400_000
    """How long a log remembers a producer."""
    rebalance_protocols: tuple[str, ...] = ("classic", "consumer", "streams")
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000

    @property
    def has_consumer_groups(self) -> bool:
        """Whether the new protocol is spoken; groups that there are stay as they are."""
        return "consumer" in self.rebalance_protocols

    @classmethod
    def from_broker(cls, properties: Mapping[str, str]) -> "GroupSettings":
        """`ConfigError` if one is wrong."""
        table = definitions(Kind.BROKER)
        found: dict[str, Any] = {}
        for one in fields(cls):
            name = PROPERTIES[one.name]
            if name in properties:
                value = table[name].parse(properties[name])
                found[one.name] = tuple(value) if isinstance(value, list | tuple) else value
        if "consumer_assignors" in found:
            found["consumer_assignors"] = _known_assignors(found["consumer_assignors"])
        if "compression" in found:
            found["compression"] = _known_codec(found["compression"])
        if _CLASSIC not in found.get("rebalance_protocols", (_CLASSIC,)):
            raise ConfigError(f"{_PROTOCOLS}: classic cannot be switched off")
        return cls(**found)


def _known_codec(number: int) -> Compression:
    if number not in list(Compression):
        raise ConfigError(f"{_CODEC}: there is no codec {number}")
    return Compression(number)


def _known_assignors(named: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(_CLASSES.get(name, name) for name in named)
    for name in names:
        if name not in _CLASSES.values():
            known = ", ".join(_CLASSES.values())
            raise ConfigError(f"{_ASSIGNORS}: no assignor {name} is known here, only {known}")
    if not names:
        raise ConfigError(f"{_ASSIGNORS}: at least one is needed")
    return names
