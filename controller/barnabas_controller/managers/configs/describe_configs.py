"""DescribeConfigs (key 32), served v1-v4: configs, where they come from and what else is behind.

v1 synonyms; v3 types and documentation; v4 flexible. A controller tells of itself and of the
defaults of all nodes (KIP-919), and of whatever is in the metadata. Knowingly missing: loggers,
which each node answers for itself, and documentation.
"""

from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.config_answer import describe_resource
from barnabas_core.metadata.config_description import ConfigDescriber
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsRequest
from barnabas_core.wire.messages.describe_configs_response import DescribeConfigsResponse


def decide_describe_configs(
    view: View, request: DescribeConfigsRequest, context: Context
) -> Result[DescribeConfigsResponse]:
    settings = view.settings
    describer = ConfigDescriber(view.image, settings.node_id, settings.static_configs)
    results = [
        describe_resource(describer, asked, include_synonyms=request.include_synonyms)
        for asked in request.resources
    ]
    return Result((), DescribeConfigsResponse(results=results))
