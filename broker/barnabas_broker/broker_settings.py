"""A broker's settings from Kafka's properties, over those it has."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.fetching.replica_selector import REPLICA_SELECTOR, is_rack_aware
from barnabas_broker.lifecycle import LifecycleConfig
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.server.connection_quota import ConnectionLimits

# All checkpoints are written together.
_CHECKPOINT_INTERVALS: Final = (
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "replica.high.watermark.checkpoint.interval.ms",
)


def with_properties(config: BrokerConfig, properties: Mapping[str, str]) -> BrokerConfig:
    """`ConfigError` if one is wrong. Listeners, ids and directories are not taken from here."""
    if not properties:
        return config
    table = definitions(Kind.BROKER)

    def number(name: str) -> int:
        prop = table[name]
        value = prop.parse(properties[name]) if name in properties else prop.default
        return cast("int", value)

    return replace(
        config,
        static_configs={**config.static_configs, **properties},
        rack=properties.get("broker.rack", config.rack),
        auto_create_topics=bool(number("auto.create.topics.enable")),
        fetch_bytes_max=number("fetch.max.bytes"),
        described_partition_count_max=number("max.request.partition.size.limit"),
        controlled_shutdown=bool(number("controlled.shutdown.enable")),
        fetch_session_slots=number("max.incremental.fetch.session.cache.slots"),
        is_rack_aware=is_rack_aware(properties.get(REPLICA_SELECTOR)),
        endpoint=replace(
            config.endpoint,
            frame_bytes_max=number("socket.request.max.bytes"),
            large_bytes_max=_queued_bytes_max(number("queued.max.request.bytes"), config),
            limits=ConnectionLimits.from_broker(properties),
            idle_ms_max=number("connections.max.idle.ms"),
        ),
        lifecycle=LifecycleConfig(
            number("broker.heartbeat.interval.ms"),
            number("broker.session.timeout.ms"),
            number("initial.broker.registration.timeout.ms"),
        ),
        replication=replace(
            config.replication,
            lag_ms_max=number("replica.lag.time.max.ms"),
            chunk_bytes_max=number("replica.fetch.max.bytes"),
        ),
        telemetry_bytes_max=number("telemetry.max.bytes"),
        cleaner=CleanerSettings.from_broker(properties),
        retention_check_interval_ms=number("log.retention.check.interval.ms"),
        checkpoint_interval_ms=min(
            [number(name) for name in _CHECKPOINT_INTERVALS if name in properties],
            default=config.checkpoint_interval_ms,
        ),
        flush_check_interval_ms=min(number("log.flush.scheduler.interval.ms"), 1_000),
        producer_expiration_ms=number("producer.id.expiration.ms"),
        producer_expiration_check_interval_ms=number("producer.id.expiration.check.interval.ms"),
    )


def _queued_bytes_max(wanted_bytes: int, config: BrokerConfig) -> int:
    """Kafka's default is none at all; ours is one."""
    return wanted_bytes if wanted_bytes > 0 else config.endpoint.large_bytes_max
