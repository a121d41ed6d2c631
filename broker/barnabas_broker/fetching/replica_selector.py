"""Where a consumer is to read (KIP-392): at the leader, or at a replica in its own rack. Pure."""

from collections.abc import Callable
from typing import Final

from barnabas_broker.partitions.leadership import Leadership
from barnabas_core.config.error import InvalidValue

NO_REPLICA: Final = -1
"""The leader."""

REPLICA_SELECTOR: Final = "replica.selector.class"
_LEADER: Final = "org.apache.kafka.common.replica.LeaderSelector"
_RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def is_rack_aware(class_name: str | None) -> bool:
    """What `replica.selector.class` says; a class that is not known here is refused."""
    if not class_name or class_name == _LEADER:
        return False
    if class_name == _RACK_AWARE:
        return True
    raise InvalidValue(REPLICA_SELECTOR, class_name, f"only {_LEADER} and {_RACK_AWARE} are known")


def preferred_replica(
    leadership: Leadership,
    local_id: int,
    fetch_offset: int,
    rack: str,
    rack_of: Callable[[int], str | None],
) -> int:
    """The most advanced replica in sync in the reader's rack; the leader if it is there itself.

    `rack_of`: of a live broker with the listener that was asked, else None.
    """
    if rack_of(local_id) == rack:
        return NO_REPLICA
    best = (-1, NO_REPLICA)
    for broker_id in leadership.isr:
        progress = leadership.progress(broker_id)
        # One that has nothing there would send the reader back here, over and over.
        if progress is None or not progress.log_start <= fetch_offset <= progress.acked:
            continue
        if rack_of(broker_id) == rack:
            best = max(best, (progress.acked, broker_id))
    return best[1]
