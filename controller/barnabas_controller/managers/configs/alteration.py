"""What the configs of one resource become, and the records that make them so.

Both requests that change configs, the incremental one and the one that replaces all, come down to
new values of some names (None takes a name away) and names that go because they were left out. All
of a resource's changes are done or none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_controller.managers.configs.broker_validation import validate_broker_config
from barnabas_controller.managers.configs.client_metrics_validation import (
    validate_client_metrics_config,
)
from barnabas_controller.managers.configs.group_validation import validate_group_config
from barnabas_controller.managers.configs.validation import validate_topic_config
from barnabas_controller.managers.refusal import Refusal, invalid_config, invalid_request
from barnabas_controller.managers.view import View
from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.metadata.effective_config import (
    DEFAULT_BROKER,
    node_properties,
    resource_configs,
)
from barnabas_core.metadata.feature import ELIGIBLE_LEADER_REPLICAS_VERSION, name_of_level
from barnabas_core.metadata.keyed_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
)
from barnabas_core.metadata.topic_name import topic_name_fault
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_CORDONED: Final = "cordoned.log.dirs"
_CORDONED_FROM_LEVEL: Final = 30
_LARGEST_VALUE: Final = 32_767


@dataclass(frozen=True, slots=True)
class Alteration:
    resource: ConfigResource
    values: Mapping[str, str | None]
    """Set, or taken away where None."""
    left_out: tuple[str, ...] = ()
    """Taken away since the request does not name them."""


def decide_alteration(view: View, change: Alteration) -> list[ConfigRecord] | Refusal:
    before = resource_configs(view.image, change.resource)
    explicit = {
        name: value
        for name, value in change.values.items()
        # A broker reads its key stores again when a record comes, even with the same value.
        if change.resource.type == BROKER_RESOURCE or before.get(name) != value
    }
    after = {**before}
    for name, value in [*explicit.items(), *((name, None) for name in change.left_out)]:
        refusal = _refuse_value(view, change.resource, name, value)
        if refusal is not None:
            return refusal
        if value is None:
            after.pop(name, None)
        else:
            after[name] = value
    if change.resource.type == BROKER_RESOURCE:
        after = _without_spoilt(after, keep=explicit, is_default=not change.resource.name)
    refusal = _refuse_configs(view, change.resource, after) or _refuse_absent(view, change.resource)
    if refusal is not None:
        return refusal
    explicit.update(dict.fromkeys(change.left_out))
    return [_record(change.resource, name, value) for name, value in explicit.items()]


def _without_spoilt(
    configs: Mapping[str, str], keep: Mapping[str, str | None], *, is_default: bool
) -> dict[str, str]:
    """Brokers pass over what an older release let in; it must not stop a change to the rest."""
    return {
        name: value
        for name, value in configs.items()
        if name in keep or validate_broker_config({name: value}, {}, is_default=is_default) is None
    }


def has_elr(view: View) -> bool:
    return view.image.feature(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1


def _record(resource: ConfigResource, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=resource.type, resource_name=resource.name, name=name, value=value
    )


def _refuse_value(
    view: View, resource: ConfigResource, name: str, value: str | None
) -> Refusal | None:
    if resource.type == BROKER_RESOURCE:
        refusal = _refuse_broker_value(view, resource, name, value)
        if refusal is not None:
            return refusal
    if value is not None and len(value.encode()) > _LARGEST_VALUE:
        return invalid_config(
            f"The configuration value cannot be added because it exceeds the maximum value size "
            f"of {_LARGEST_VALUE} bytes."
        )
    return None


def _refuse_broker_value(
    view: View, resource: ConfigResource, name: str, value: str | None
) -> Refusal | None:
    # The ELR counts on one min ISR for all brokers (KIP-966).
    if name == MIN_INSYNC_REPLICAS and has_elr(view):
        if resource.name:
            return invalid_config(
                "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
            )
        if value is None:
            return invalid_config(
                "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
            )
    if name == _CORDONED and view.image.metadata_level < _CORDONED_FROM_LEVEL:
        return invalid_config(
            f"The cordoned.log.dirs configuration value cannot be set because it requires "
            f"metadata.version >= {name_of_level(_CORDONED_FROM_LEVEL)}"
        )
    return None


def _refuse_configs(
    view: View, resource: ConfigResource, configs: Mapping[str, str]
) -> Refusal | None:
    if resource.type == TOPIC_RESOURCE:
        return _refuse_topic_name(resource.name) or _invalid(
            validate_topic_config(view, resource.name, configs)
        )
    if resource.type == BROKER_RESOURCE:
        return _refuse_node_name(resource.name) or _refuse_broker(view, resource, configs)
    if resource.type == GROUP_RESOURCE:
        if not resource.name:
            return invalid_request("Default group resources are not allowed.")
        settings = view.settings
        properties = node_properties(view.image, settings.node_id, settings.static_configs)
        return _invalid(validate_group_config(configs, properties))
    assert resource.type == CLIENT_METRICS_RESOURCE, resource
    return validate_client_metrics_config(resource.name, configs)


def _invalid(message: str | None) -> Refusal | None:
    return None if message is None else invalid_config(message)


def _refuse_topic_name(name: str) -> Refusal | None:
    if not name:
        return invalid_request("Default topic resources are not allowed.")
    fault = topic_name_fault(name)
    return None if fault is None else Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)


def _refuse_node_name(name: str) -> Refusal | None:
    if not name:
        return None
    try:
        node_id = parse_whole(name, INT32_MAX)
    except ValueError:
        return invalid_request("Unable to parse broker name as a base 10 number.")
    return invalid_request("Invalid negative broker ID.") if node_id < 0 else None


def _refuse_broker(
    view: View, resource: ConfigResource, configs: Mapping[str, str]
) -> Refusal | None:
    """Kafka's code for these is INVALID_REQUEST, though INVALID_CONFIG would say more."""
    is_default = resource == DEFAULT_BROKER
    defaults = {} if is_default else resource_configs(view.image, DEFAULT_BROKER)
    message = validate_broker_config(configs, defaults, is_default=is_default)
    return None if message is None else invalid_request(message)


def _refuse_absent(view: View, resource: ConfigResource) -> Refusal | None:
    """Groups and subscriptions come to be by having configs, topics and nodes do not."""
    image = view.image
    if resource.type == TOPIC_RESOURCE and image.topics.named(resource.name) is None:
        message = f"The topic '{resource.name}' does not exist."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if resource.type != BROKER_RESOURCE or not resource.name:
        return None
    node_id = int(resource.name)
    known: Iterable[int] = (*image.cluster.brokers, *image.cluster.controllers)
    if node_id in known or node_id == view.settings.node_id:
        return None
    message = f"No node with id {node_id} found."
    return Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
