"""Settings of a topic that decide on leadership, from wherever they were set.

The topic's own config comes first, then what was set dynamically for this controller, then the
dynamic default of all nodes, then the properties file.
"""

from typing import Final

from barnabas_controller.managers.view import View
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"


def effective_min_isr(view: View, topic_name: str) -> int:
    """How many in-sync replicas a write needs, at most as many as the topic's replicas."""
    configured = _dynamic_value(view, topic_name, MIN_INSYNC_REPLICAS)
    min_isr = view.settings.min_insync_replicas if configured is None else int(configured)
    topic = view.image.topics.named(topic_name)
    first = topic.partitions.get(0) if topic is not None else None
    return min_isr if first is None else min(min_isr, len(first.replicas))


def unclean_election_enabled(view: View, topic_name: str) -> bool:
    """May a replica lead that is not known to have all that was acknowledged?"""
    configured = _dynamic_value(view, topic_name, UNCLEAN_LEADER_ELECTION)
    if configured is None:
        return view.settings.unclean_leader_election
    return configured.strip().lower() == "true"


def _dynamic_value(view: View, topic_name: str, name: str) -> str | None:
    for resource in (
        ConfigResource(TOPIC_RESOURCE, topic_name),
        ConfigResource(BROKER_RESOURCE, str(view.settings.node_id)),
        ConfigResource(BROKER_RESOURCE, ""),
    ):
        value = view.image.configs.get(resource, {}).get(name)
        if value is not None:
            return value
    return None
