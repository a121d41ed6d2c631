"""What any controller answers, active or not, from what it has replayed: about itself and others.

DescribeConfigs is about the node that is asked; DescribeCluster is how an admin client that knows
any controller finds the active one (KIP-919).
"""

from barnabas_controller.engine import Engine
from barnabas_controller.managers.cluster_description import Answerer, describe_cluster
from barnabas_controller.managers.view import Context
from barnabas_controller.quorum.driver import QuorumDriver
from barnabas_core.metadata.config_answer import describe_resource
from barnabas_core.metadata.config_description import ConfigDescriber
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsRequest
from barnabas_core.wire.messages.describe_configs_response import DescribeConfigsResponse


class ReadApis:
    def __init__(self, engine: Engine, driver: QuorumDriver, listener_name: str) -> None:
        self._engine = engine
        self._driver = driver
        self._listener_name = listener_name

    async def describe_cluster(
        self, request: DescribeClusterRequest, context: Context
    ) -> DescribeClusterResponse:
        voters = {
            int(voter.node_id): (voter.endpoints[0].host, voter.endpoints[0].port)
            for voter in self._driver.node.quorum.history.voters
            if voter.endpoints
        }
        answerer = Answerer(
            self._engine.settings.cluster_id,
            self._listener_name,
            # Between two leaders: the one before. An admin client that is told of none does not ask
            # again for minutes; one that finds NOT_CONTROLLER there does, as with Kafka.
            self._driver.last_leader_id,
            voters,
        )
        return describe_cluster(self._engine.committed, request, context.api_version, answerer)

    async def describe_configs(
        self, request: DescribeConfigsRequest, context: Context
    ) -> DescribeConfigsResponse:
        settings = self._engine.settings
        describer = ConfigDescriber(
            self._engine.committed, settings.node_id, settings.static_configs
        )
        return DescribeConfigsResponse(
            results=[
                describe_resource(describer, asked, include_synonyms=request.include_synonyms)
                for asked in request.resources
            ]
        )
