"""The configuration of one log: every topic config of Kafka, typed, with Kafka's defaults.

A topic's config is its own overrides on top of the broker's, on top of Kafka's defaults::

    broker = LogConfig.from_broker(server_properties)    # log.retention.hours and all its kin
    topic = LogConfig.of({"retention.ms": "1000"}, broker)

Both refuse what Kafka refuses, in its words. `LogConfig(...)` itself checks nothing: tests make
small segments with it. The defaults below are literals so that starting up reads no table; a test
holds them against the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from barnabas_core.config.definition import Kind, Property, definition, definitions
from barnabas_core.config.error import ConfigError, ConflictingValues, InvalidValue
from barnabas_core.config.number import INT64_MAX
from barnabas_core.config.property_type import Value, format_value
from barnabas_core.config.source import ConfigSource, DescribedConfig, Synonym

_DAY_MS = 24 * 60 * 60 * 1000
_NOTHING: Mapping[str, str] = MappingProxyType({})
DERIVED_RETENTION = -2
"""Of `local.retention.*`: the same as `retention.*`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    segment_bytes: int = 1 << 30
    """`internal.segment.bytes` (tests) if that is set: it has no lower bound."""
    segment_ms: int = 7 * _DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1024 * 1024 + 12
    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX
    retention_bytes: int = -1
    retention_ms: int = 7 * _DAY_MS
    file_delete_delay_ms: int = 60_000
    preallocate: bool = False
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    """With neither policy nothing is ever deleted but below the log start offset."""
    delete_retention_ms: int = _DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX
    min_cleanable_dirty_ratio: float = 0.5
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    remote_storage_enable: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    local_retention_bytes: int = DERIVED_RETENTION
    local_retention_ms: int = DERIVED_RETENTION
    remote_log_storage_system_enable: bool = False
    """The broker's own switch, without which no topic may use remote storage."""
    hidden_segment_bytes: int | None = None
    """What `segment.bytes` says where `internal.segment.bytes` is obeyed instead."""

    overrides: Mapping[str, str] = field(default_factory=lambda: _NOTHING, compare=False)
    """What the topic itself sets, as it was set."""
    broker_properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING, compare=False)
    """What the broker sets of it, under the broker's names."""

    @classmethod
    def of(cls, overrides: Mapping[str, str], defaults: "LogConfig | None" = None) -> "LogConfig":
        """The config of a topic with these overrides; `ConfigError` if one is unknown or wrong."""
        base = DEFAULT if defaults is None else defaults
        if not overrides:
            return base
        values = {name: definition(Kind.TOPIC, name).parse(overrides[name]) for name in overrides}
        changes = _to_fields(values)
        if "internal.segment.bytes" in values:
            changes["hidden_segment_bytes"] = values.get("segment.bytes", base.segment_bytes)
        config = replace(base, overrides=MappingProxyType(dict(overrides)), **changes)
        _check_together(config)
        return config

    @classmethod
    def from_broker(cls, properties: Mapping[str, str]) -> "LogConfig":
        """The defaults that a broker's properties give its topics; other properties are ignored."""
        values: dict[str, Value] = {}
        used: dict[str, str] = {}
        for prop in definitions(Kind.TOPIC).values():
            for synonym in prop.broker_synonyms:
                if synonym in properties:
                    used[synonym] = properties[synonym]
                    value = _broker_value(prop, synonym, properties[synonym])
                    values.setdefault(prop.name, value)
        if _REMOTE_SYSTEM in properties:
            text = used[_REMOTE_SYSTEM] = properties[_REMOTE_SYSTEM]
            values[_REMOTE_SYSTEM] = definition(Kind.BROKER, _REMOTE_SYSTEM).parse(text)
        if not used:
            return DEFAULT
        config = replace(DEFAULT, broker_properties=MappingProxyType(used), **_to_fields(values))
        _check_together(config)
        return config

    @property
    def is_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def segment_ms_max(self) -> int:
        """A compacted log rolls early enough for `max.compaction.lag.ms` to be kept."""
        if self.cleanup_compact:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms

    def describe(self) -> list[DescribedConfig]:
        """All topic configs as DescribeConfigs answers, the internal ones only if they are set."""
        return [
            self._describe(prop)
            for prop in definitions(Kind.TOPIC).values()
            if not prop.is_internal or prop.name in self.overrides
        ]

    def value(self, name: str) -> Value:
        """The value of a topic config by its Kafka name."""
        if name == "cleanup.policy":
            policies = (("compact", self.cleanup_compact), ("delete", self.cleanup_delete))
            return tuple(policy for policy, is_set in policies if is_set)
        if name == "segment.bytes" and self.hidden_segment_bytes is not None:
            return self.hidden_segment_bytes
        value: Value = getattr(self, _field_of(name))
        return value

    def _describe(self, prop: Property) -> DescribedConfig:
        synonyms = self._broker_synonyms(prop)
        if prop.name in self.overrides:
            shown = format_value(prop.parse(self.overrides[prop.name]))
            synonyms.insert(0, Synonym(prop.name, shown, ConfigSource.DYNAMIC_TOPIC_CONFIG))
        else:
            shown = format_value(self.value(prop.name))
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
        return DescribedConfig(prop.name, shown, source, tuple(synonyms))

    def _broker_synonyms(self, prop: Property) -> list[Synonym]:
        """The broker's properties behind a topic config, those that are set first.

        Kafka looks at them only if the first one has a value: a retention in hours, with no
        `log.retention.ms`, is not told of.
        """
        table = [definition(Kind.BROKER, name) for name in prop.broker_synonyms]
        set_by_broker = [
            Synonym(each.name, self.broker_properties[each.name], ConfigSource.STATIC_BROKER_CONFIG)
            for each in table
            if each.name in self.broker_properties
        ]
        defaults = [
            Synonym(each.name, each.default_text, ConfigSource.DEFAULT_CONFIG)
            for each in table
            if each.default_text is not None
        ]
        synonyms = set_by_broker + defaults
        return synonyms if any(each.name == table[0].name for each in synonyms) else []


DEFAULT = LogConfig()
_FIELDS = frozenset(each.name for each in fields(LogConfig))

_REMOTE_SYSTEM = "remote.log.storage.system.enable"
_HOUR_MS = 60 * 60 * 1000
# Broker properties in another unit than the topic config that they are for.
_UNIT_MS = {
    "log.retention.hours": _HOUR_MS,
    "log.retention.minutes": 60 * 1000,
    "log.roll.hours": _HOUR_MS,
    "log.roll.jitter.hours": _HOUR_MS,
}


def _field_of(name: str) -> str:
    return "segment_bytes" if name == "internal.segment.bytes" else name.replace(".", "_")


def _to_fields(values: Mapping[str, Value]) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for name, value in values.items():
        if name == "cleanup.policy":
            assert isinstance(value, tuple)
            converted["cleanup_delete"] = "delete" in value
            converted["cleanup_compact"] = "compact" in value
        elif name != "segment.bytes" or "internal.segment.bytes" not in values:
            converted[_field_of(name)] = value
    assert converted.keys() <= _FIELDS, converted.keys() - _FIELDS
    return converted


def _broker_value(prop: Property, synonym: str, text: str) -> Value:
    """What a broker property means for the topic config: its own bounds, then the topic's."""
    value = definition(Kind.BROKER, synonym).parse(text)
    if prop.name == "retention.ms":
        return _broker_retention_ms(synonym, value)
    if synonym in _UNIT_MS:
        assert isinstance(value, int)
        return value * _UNIT_MS[synonym]
    shown = format_value(value)
    assert shown is not None
    try:
        return prop.parse(shown)
    except InvalidValue as error:
        raise InvalidValue(synonym, text, str(error).rsplit(": ", 1)[1]) from error


def _broker_retention_ms(synonym: str, value: Value) -> int:
    """Any negative number is "for ever", and 0 would delete everything at once."""
    assert isinstance(value, int)
    if value == 0:
        reason = f"{synonym} must be unlimited (-1) or, equal or greater than 1"
        raise InvalidValue(synonym, value, reason)
    return -1 if value < 0 else value * _UNIT_MS.get(synonym, 1)


def _check_together(config: LogConfig) -> None:
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConflictingValues(
            f"conflict topic config setting min.compaction.lag.ms "
            f"({config.min_compaction_lag_ms}) > max.compaction.lag.ms "
            f"({config.max_compaction_lag_ms})"
        )
    if config.remote_storage_enable:
        _check_remote(config)


def _check_remote(config: LogConfig) -> None:
    if not config.remote_log_storage_system_enable:
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    if config.cleanup_compact:
        raise ConfigError(
            "Remote log storage only supports topics with cleanup.policy=delete or "
            "cleanup.policy being an empty list."
        )
    _check_local("bytes", config.local_retention_bytes, config.retention_bytes)
    _check_local("ms", config.local_retention_ms, config.retention_ms)
    if config.remote_log_copy_disable:
        _check_same("bytes", config.local_retention_bytes, config.retention_bytes)
        _check_same("ms", config.local_retention_ms, config.retention_ms)


def _check_same(unit: str, local: int, total: int) -> None:
    """What is not copied any more exists only here, so it must be kept here to its end."""
    if local not in (DERIVED_RETENTION, total):
        raise ConflictingValues(
            f"When `remote.log.copy.disable` is set to true, the `local.retention.{unit}` and "
            f"`retention.{unit}` must be set to the identical value because there will be no "
            f"more logs copied to the remote storage."
        )


def _check_local(unit: str, local: int, total: int) -> None:
    """What is kept here cannot be more than what is kept at all."""
    if total < 0 or local == DERIVED_RETENTION:
        return
    if local == -1:
        reason = f"Value must not be -1 as retention.{unit} value is set as {total}."
        raise InvalidValue(f"local.retention.{unit}", local, reason)
    if local > total:
        reason = f"Value must not be more than retention.{unit} property value: {total}"
        raise InvalidValue(f"local.retention.{unit}", local, reason)
