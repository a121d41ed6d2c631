"""AlterConfigs (key 33), served v0-v2: the configs of a resource become exactly those given.

v1 the same; v2 flexible. Older than IncrementalAlterConfigs: what is not named is deleted.
"""

from collections.abc import Sequence

from barnabas_controller.managers.configs.alteration import Alteration
from barnabas_controller.managers.configs.batch import decide_batch
from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.effective_config import resource_configs
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.keyed_image import ConfigResource
from barnabas_core.wire.messages.alter_configs_request import AlterableConfig, AlterConfigsRequest
from barnabas_core.wire.messages.alter_configs_response import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def decide_alter_configs(
    view: View, request: AlterConfigsRequest, context: Context
) -> Result[AlterConfigsResponse]:
    items = [
        (ConfigResource(asked.resource_type, asked.resource_name), asked.configs)
        for asked in request.resources
    ]
    records, outcomes = decide_batch(view, items, _alteration)
    responses = [AlterConfigsResourceResponse(*outcome) for outcome in outcomes]
    return Result(
        () if request.validate_only else records, AlterConfigsResponse(responses=responses)
    )


def _alteration(
    image: Image, resource: ConfigResource, configs: Sequence[AlterableConfig]
) -> Alteration | Refusal:
    values = {config.name: config.value for config in configs}
    if len(values) < len(configs):
        return invalid_request("Error due to duplicate config keys")
    nulls = [name for name, value in values.items() if value is None]
    if nulls:
        return invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    before = resource_configs(image, resource)
    return Alteration(resource, values, tuple(name for name in before if name not in values))
