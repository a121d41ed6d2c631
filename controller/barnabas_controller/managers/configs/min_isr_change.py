"""What else must be recorded when `min.insync.replicas` changes (KIP-966).

A replica is eligible since it was in sync while enough others were. With another idea of "enough"
that no longer holds, so the eligible ones are forgotten.
"""

from collections.abc import Iterable

from barnabas_controller.managers.configs.alteration import MIN_INSYNC_REPLICAS, has_elr
from barnabas_controller.managers.view import View
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.config_record import ConfigRecord


def clear_elr_records(view: View, changes: Iterable[ConfigRecord]) -> list[ClearElrRecord]:
    """One for each topic whose minimum changes, and one for all if the brokers' does."""
    if not has_elr(view):
        return []
    return [
        ClearElrRecord(
            topic_name=change.resource_name if change.resource_type == TOPIC_RESOURCE else ""
        )
        for change in changes
        if change.name == MIN_INSYNC_REPLICAS
    ]
