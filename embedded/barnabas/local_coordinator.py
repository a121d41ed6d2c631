"""The group coordinator of an embedded cluster, or of a node that is broker and controller."""

from collections.abc import Mapping, Sequence

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.observation_config import ObservationConfig
from barnabas_coordinator.service import CoordinatorConfig, CoordinatorPorts, CoordinatorService
from barnabas_core.config.own_property import group_series_max
from barnabas_core.ports.link import Address


def group_coordinator(
    properties: Mapping[str, str],
    address: Address,
    controllers: Sequence[Address],
    on: CoordinatorPorts,
    node_id: int = -1,
) -> CoordinatorService:
    """`ConfigError` if a property is wrong."""
    settings = GroupSettings.from_broker(properties)
    observation = ObservationConfig(node_id, group_series_max(properties))
    config = CoordinatorConfig(
        controllers,
        address,
        lambda: GroupShard(settings, observation.counts),
        observation=observation,
    )
    return CoordinatorService(config, on)
