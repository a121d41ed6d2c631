"""DescribeConfigs (key 32), served v1-v4.

v1 synonyms; v3 types and documentation; v4 flexible. Topics, groups, subscriptions to client
metrics and the defaults of all brokers are answered from the metadata, a broker's own configs from
its properties besides, and its loggers from the running process. Another broker's configs or
loggers are refused: only it knows its properties.

Missing: documentation is null even if it is asked for, since the texts are Kafka's own.
"""

from collections.abc import Mapping

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.loggers import Loggers
from barnabas_core.metadata.config_answer import describe_resource
from barnabas_core.metadata.config_description import ConfigDescriber
from barnabas_core.metadata.keyed_image import BROKER_LOGGER_RESOURCE
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsRequest
from barnabas_core.wire.messages.describe_configs_response import DescribeConfigsResponse


class DescribeConfigsHandler:
    def __init__(
        self, view: ClusterView, static_configs: Mapping[str, str], loggers: Loggers
    ) -> None:
        self._view = view
        self._static_configs = static_configs
        self._loggers = loggers

    def handle(
        self, request: DescribeConfigsRequest, context: RequestContext
    ) -> DescribeConfigsResponse:
        describer = ConfigDescriber(self._view.image, self._view.node_id, self._static_configs)
        return DescribeConfigsResponse(
            results=[
                self._loggers.describe(asked)
                if asked.resource_type == BROKER_LOGGER_RESOURCE
                else describe_resource(describer, asked, include_synonyms=request.include_synonyms)
                for asked in request.resources
            ]
        )
