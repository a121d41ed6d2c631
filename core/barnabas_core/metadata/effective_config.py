"""What a config comes to, where it may be set in several places.

A node's own property is its dynamic one, then the dynamic default of the cluster, then what its
properties file says. A topic's config is its own, then the node's property behind it (under another
name, perhaps one of several), then Kafka's default.
"""

from collections.abc import Mapping
from typing import Final

from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource

DEFAULT_BROKER: Final = ConfigResource(BROKER_RESOURCE, "")
_NONE: Mapping[str, str] = {}

# Properties that say the same in several units: the first that is set wins.
_SAME: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
# The scheduler's interval is a property of its own, which only stands in for the other.
_FAMILY: Final = {
    name: family for family in _SAME for name in family if name != "log.flush.scheduler.interval.ms"
}


def same_property(name: str) -> tuple[str, ...]:
    """All names of a broker property that is known under several, strongest first."""
    return _FAMILY.get(name, (name,))


def resource_configs(image: Image, resource: ConfigResource) -> Mapping[str, str]:
    return image.configs.get(resource, _NONE)


def topic_configs(image: Image, topic: str) -> Mapping[str, str]:
    return resource_configs(image, ConfigResource(TOPIC_RESOURCE, topic))


def broker_configs(image: Image, node_id: int) -> Mapping[str, str]:
    return resource_configs(image, ConfigResource(BROKER_RESOURCE, str(node_id)))


def node_properties(
    image: Image, node_id: int, static_configs: Mapping[str, str]
) -> dict[str, str]:
    """The properties that a node obeys. Placeholders in dynamic ones are left as they are."""
    merged = dict(static_configs)
    for overrides in (resource_configs(image, DEFAULT_BROKER), broker_configs(image, node_id)):
        for name in overrides:
            # A dynamic log.retention.hours beats a static log.retention.ms.
            for other in same_property(name):
                merged.pop(other, None)
        merged.update(overrides)
    return merged
