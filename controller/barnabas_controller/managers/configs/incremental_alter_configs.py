"""IncrementalAlterConfigs (key 44), served v0-v1: set, delete, append, subtract.

v1 flexible. Appending and subtracting work on lists of topics and brokers; what a list starts from
is its own value, or else Kafka's default, not the broker's. Refused: BROKER_LOGGER, which each node
answers for itself.
"""

from collections.abc import Sequence
from enum import IntEnum

from barnabas_controller.managers.configs.alteration import Alteration
from barnabas_controller.managers.configs.batch import decide_batch
from barnabas_controller.managers.refusal import Refusal, invalid_config, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.config.definition import Kind, Property, definitions
from barnabas_core.config.property_type import PropertyType
from barnabas_core.metadata.effective_config import resource_configs
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigResource
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def decide_incremental_alter_configs(
    view: View, request: IncrementalAlterConfigsRequest, context: Context
) -> Result[IncrementalAlterConfigsResponse]:
    items = [
        (ConfigResource(asked.resource_type, asked.resource_name), asked.configs)
        for asked in request.resources
    ]
    records, outcomes = decide_batch(view, items, _alteration)
    responses = [AlterConfigsResourceResponse(*outcome) for outcome in outcomes]
    return Result(
        () if request.validate_only else records,
        IncrementalAlterConfigsResponse(responses=responses),
    )


def _alteration(
    image: Image, resource: ConfigResource, configs: Sequence[AlterableConfig]
) -> Alteration | Refusal:
    if len({config.name for config in configs}) < len(configs):
        return invalid_request("Error due to duplicate config keys")
    nulls = [
        config.name
        for config in configs
        if config.value is None and config.config_operation != Operation.DELETE
    ]
    if nulls:
        return invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    before = resource_configs(image, resource)
    values: dict[str, str | None] = {}
    for config in configs:
        value = _new_value(resource, config, before.get(config.name))
        if isinstance(value, Refusal):
            return value
        values[config.name] = value
    return Alteration(resource, values)


def _new_value(
    resource: ConfigResource, config: AlterableConfig, before: str | None
) -> str | Refusal | None:
    if config.config_operation == Operation.SET:
        return config.value
    if config.config_operation == Operation.DELETE:
        return None
    if config.config_operation not in (Operation.APPEND, Operation.SUBTRACT):
        return invalid_request(f"Unknown operations type {config.config_operation}")
    operation = Operation(config.config_operation)
    prop = _property(resource, config.name)
    if prop is None or prop.type is not PropertyType.LIST:
        return invalid_config(
            f"Can't {operation.name} to key {config.name} because its type is not LIST."
        )
    assert config.value is not None, "nulls were refused"
    items = _items(prop.default_text or "" if before is None else before)
    for item in _items(config.value):
        if operation is Operation.APPEND and item not in items:
            items.append(item)
        elif operation is Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


def _items(text: str) -> list[str]:
    return [item for item in text.split(",") if item]


def _property(resource: ConfigResource, name: str) -> Property | None:
    kind = {TOPIC_RESOURCE: Kind.TOPIC, BROKER_RESOURCE: Kind.BROKER}.get(resource.type)
    return None if kind is None else definitions(kind).get(name)
