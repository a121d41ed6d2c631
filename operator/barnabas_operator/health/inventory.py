"""The pages of an inventory, put together."""

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas_operator.health.cluster_port import ClusterView
from barnabas_operator.plan.observed import BrokerState, PartitionState, QuorumState
from barnabas_operator.plan.topic_state import TopicState


def read_inventory(
    pages: Sequence[Any], quorum: QuorumState, lags: Mapping[int, int]
) -> ClusterView:
    """Brokers and configs of the last page: they are the newest."""
    last = pages[-1]
    topics = [topic for page in pages for topic in page.topics]
    return ClusterView(
        quorum=quorum,
        brokers={
            one.node_id: BrokerState(one.node_id, one.rack, one.is_fenced, one.is_cordoned)
            for one in last.brokers
        },
        topics={topic.name: _topic(topic) for topic in topics},
        dynamic_config=dict(last.broker_configs),
        features=dict(last.features),
        min_isr={topic.name: topic.min_isr for topic in topics},
        topic_ids={topic.name: topic.id for topic in topics},
        lags=lags,
    )


def _topic(topic: Any) -> TopicState:
    partitions = tuple(
        PartitionState(
            topic.name,
            one.number,
            tuple(one.replicas),
            tuple(one.isr),
            one.leader,
            one.is_reassigning,
        )
        for one in topic.partitions
    )
    return TopicState(partitions, dict(topic.configs))
