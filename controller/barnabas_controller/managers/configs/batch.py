"""Many resources in one request: each is altered or refused by itself, in the request's order."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from barnabas_controller.managers.configs.alteration import Alteration, decide_alteration
from barnabas_controller.managers.configs.min_isr_change import clear_elr_records
from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import View
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.schema import Message

T = TypeVar("T")

_KEPT: Final = (TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE, CLIENT_METRICS_RESOURCE)
DONE: Final = Refusal(ErrorCode.NONE, None)


def decide_batch(
    view: View,
    items: Sequence[tuple[ConfigResource, T]],
    alteration: Callable[[Image, ConfigResource, T], Alteration | Refusal],
) -> tuple[list[Message], list[tuple[ErrorCode, str | None, int, str]]]:
    """Records of all that can be done, and (error, message, resource type, name) of each."""
    seen = Counter(resource for resource, _ in items)
    records: list[Message] = []
    outcomes = []
    for resource, asked in items:
        refusal = _refuse_resource(resource, seen[resource])
        outcome = refusal or _decide_one(view, alteration(view.image, resource, asked))
        if not isinstance(outcome, Refusal):
            added = [*outcome, *clear_elr_records(view, outcome)]
            outcome = _refuse_too_many(view, len(records) + len(added)) or DONE
            records += added if outcome is DONE else []
        outcomes.append((outcome.error, outcome.message, *resource))
    return records, outcomes


def _decide_one(view: View, change: Alteration | Refusal) -> list[ConfigRecord] | Refusal:
    return change if isinstance(change, Refusal) else decide_alteration(view, change)


def _refuse_resource(resource: ConfigResource, count: int) -> Refusal | None:
    if count > 1:
        return invalid_request("Each resource must appear at most once.")
    if resource.type == BROKER_LOGGER_RESOURCE:
        # Levels of loggers are not metadata: each node keeps its own, and only while it runs.
        return invalid_request("Unexpected resource type BROKER_LOGGER.")
    if resource.type not in _KEPT:
        return invalid_request(f"Unknown resource type {resource.type}")
    return None


def _refuse_too_many(view: View, count: int) -> Refusal | None:
    if count <= view.settings.max_records_per_decision:
        return None
    message = "Unable to perform excessively large batch operation."
    return Refusal(ErrorCode.POLICY_VIOLATION, message)
