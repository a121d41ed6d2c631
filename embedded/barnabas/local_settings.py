"""The settings of an embedded cluster's controller, from the properties given for its nodes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from barnabas_controller.managers.view import ControllerSettings
from barnabas_core.config.definition import Kind, definitions

_FIELD_OF: Final = {
    "default.replication.factor": "default_replication_factor",
    "num.partitions": "partition_count",
    "min.insync.replicas": "min_insync_replicas",
    "unclean.leader.election.enable": "unclean_leader_election",
    "delete.topic.enable": "delete_topics",
    "broker.session.timeout.ms": "broker_session_timeout_ms",
    "broker.heartbeat.interval.ms": "broker_heartbeat_interval_ms",
    "auto.leader.rebalance.enable": "auto_leader_rebalance",
}


def with_properties(
    settings: ControllerSettings, properties: Mapping[str, str]
) -> ControllerSettings:
    """Over those that it has; `ConfigError` if one is wrong."""
    table = definitions(Kind.BROKER)
    found: dict[str, Any] = {
        _FIELD_OF[name]: table[name].parse(text)
        for name, text in properties.items()
        if name in _FIELD_OF
    }
    return replace(settings, **found)
