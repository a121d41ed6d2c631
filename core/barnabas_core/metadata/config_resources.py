"""ListConfigResources: which resources there are to describe (KIP-1142)."""

from collections.abc import Sequence

from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)

LISTABLE = (
    GROUP_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
)


def config_resources(image: Image, types: Sequence[int]) -> list[ConfigResource]:
    """All of these types: topics and live brokers whether they have configs of their own or not."""
    return [
        ConfigResource(each, name)
        for each in LISTABLE
        if each in types
        for name in _names(image, each)
    ]


def _names(image: Image, resource_type: int) -> list[str]:
    if resource_type == TOPIC_RESOURCE:
        return sorted(image.topics.id_by_name)
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        live = (broker.id for broker in image.cluster.brokers.values() if not broker.is_fenced)
        return [str(broker_id) for broker_id in sorted(live)]
    return sorted(resource.name for resource in image.configs if resource.type == resource_type)
