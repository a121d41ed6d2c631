"""ListConfigResources (key 74), served v0-v1.

v0 subscriptions to client metrics only; v1 any types, all if none is named (KIP-1142).
"""

from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.config_resources import LISTABLE, config_resources
from barnabas_core.metadata.keyed_image import CLIENT_METRICS_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from barnabas_core.wire.messages.list_config_resources_response import (
    ConfigResource,
    ListConfigResourcesResponse,
)


def decide_list_config_resources(
    view: View, request: ListConfigResourcesRequest, context: Context
) -> Result[ListConfigResourcesResponse]:
    if context.api_version == 0:
        types = [CLIENT_METRICS_RESOURCE]
    else:
        types = request.resource_types or list(LISTABLE)
    if any(each not in LISTABLE for each in types):
        refusal = ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        return Result((), refusal)
    found = [
        ConfigResource(resource_name=each.name, resource_type=each.type)
        for each in config_resources(view.image, types)
    ]
    return Result((), ListConfigResourcesResponse(config_resources=found))
