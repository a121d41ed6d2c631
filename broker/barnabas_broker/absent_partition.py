"""Why a partition that a client asks for is not kept here."""

from barnabas_broker.cluster_view import ClusterView
from barnabas_core.wire.error_code import ErrorCode


def absent_partition(view: ClusterView, topic: str, index: int) -> ErrorCode:
    """Others may keep it: then the client is to look for its leader again."""
    if view.partition(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NOT_LEADER_OR_FOLLOWER
