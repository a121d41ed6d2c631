"""Brokers and topics of the image, page by page, for whoever plans where replicas go."""

from typing import Any, Final

from barnabas_controller.managers.partitions.min_isr import effective_min_isr
from barnabas_controller.managers.view import View
from barnabas_core.links.cluster_health import HealthCall, answer_class
from barnabas_core.metadata.cluster_image import BrokerImage
from barnabas_core.metadata.effective_config import (
    DEFAULT_BROKER,
    resource_configs,
    topic_configs,
)
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.metadata.topics_image import TopicImage

PAGE_PARTITIONS: Final = 500
"""A page ends with the topic that reaches so many: it is made in one turn of the loop."""


def take_inventory(view: View, after_topic: str) -> Any:  # noqa: ANN401 - generated
    topics, has_more = _page(view, after_topic)
    return answer_class(HealthCall.INVENTORY)(
        brokers=[_broker(one) for one in view.image.cluster.brokers.values()],
        broker_configs=dict(resource_configs(view.image, DEFAULT_BROKER)),
        features=dict(view.image.features),
        topics=[_topic(view, one) for one in topics],
        has_more=has_more,
    )


def _page(view: View, after_topic: str) -> tuple[list[TopicImage], bool]:
    rest = sorted(
        (one for one in view.image.topics if one.name > after_topic), key=lambda one: one.name
    )
    count = 0
    for place, topic in enumerate(rest):
        count += len(topic.partitions)
        if count >= PAGE_PARTITIONS:
            return rest[: place + 1], place + 1 < len(rest)
    return rest, False


def _broker(broker: BrokerImage) -> dict[str, object]:
    cordoned = set(broker.cordoned_log_dirs)
    return {
        "node_id": broker.id,
        "rack": broker.rack or "",
        "is_fenced": not broker.is_active,
        "is_cordoned": bool(cordoned) and cordoned.issuperset(broker.log_dirs),
    }


def _topic(view: View, topic: TopicImage) -> dict[str, object]:
    return {
        "name": topic.name,
        "id": topic.id,
        "partitions": [_partition(number, one) for number, one in sorted(topic.partitions.items())],
        "configs": dict(topic_configs(view.image, topic.name)),
        "min_isr": effective_min_isr(view, topic.name),
    }


def _partition(number: int, partition: PartitionImage) -> dict[str, object]:
    return {
        "number": number,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "leader": partition.leader,
        "is_reassigning": partition.is_reassigning,
    }
