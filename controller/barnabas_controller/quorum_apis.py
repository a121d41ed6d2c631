"""The apis about the quorum itself: DescribeQuorum, AddRaftVoter, RemoveRaftVoter, UpdateFeatures.

DescribeQuorum (key 55) v1 adds times (KIP-836), v2 directory ids, error messages and nodes
(KIP-853). A controller that does not lead answers NOT_LEADER_OR_FOLLOWER with what it knows of the
leader. Observers are the standby controllers that do not vote, and whoever follows a metadata feed.
"""

from collections.abc import Callable, Sequence
from typing import Final

from barnabas_controller.engine import Engine
from barnabas_controller.managers.features.update import FeatureUpdate, decide_update_features
from barnabas_controller.managers.view import Context, View
from barnabas_controller.quorum.driver import QuorumDriver
from barnabas_core.links.metadata_feed_service import FeedClient
from barnabas_core.ports.link import NotActive
from barnabas_core.raft.description import ReplicaStatus
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey
from barnabas_core.raft.message import AddVoterRequest, RemoveVoterRequest, UpgradeVersionRequest
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from barnabas_core.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from barnabas_core.wire.messages.describe_quorum_request import DescribeQuorumRequest
from barnabas_core.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from barnabas_core.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from barnabas_core.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from barnabas_core.wire.messages.update_features_request import UpdateFeaturesRequest
from barnabas_core.wire.messages.update_features_response import UpdateFeaturesResponse
from barnabas_core.wire.primitive import ZERO_UUID

TOPIC: Final = "__cluster_metadata"
_CHANGE_TIMEOUT_MS: Final = 30_000
_DIRECTORY_VERSION: Final = 2


class QuorumApis:
    def __init__(
        self,
        engine: Engine,
        driver: QuorumDriver,
        cluster_id: str,
        feed_clients: Callable[[], Sequence[FeedClient]],
    ) -> None:
        self._engine = engine
        self._driver = driver
        self._cluster_id = cluster_id
        self._feed_clients = feed_clients

    # --- DescribeQuorum

    async def describe(
        self, request: DescribeQuorumRequest, context: Context
    ) -> DescribeQuorumResponse:
        asked = [
            (topic.topic_name, [p.partition_index for p in topic.partitions])
            for topic in request.topics
        ]
        if asked != [(TOPIC, [0])]:
            return DescribeQuorumResponse(topics=[_unknown(*topic) for topic in asked])
        description = self._driver.describe()
        if description is None:
            return DescribeQuorumResponse(topics=[TopicData(TOPIC, [self._not_leader()])])
        partition = PartitionData(
            error_message=None,
            leader_id=description.leader_id,
            leader_epoch=description.epoch,
            high_watermark=description.high_watermark,
            current_voters=[self._state(status) for status in description.voters],
            observers=[self._state(status) for status in description.observers] + self._fed(),
        )
        response = DescribeQuorumResponse(
            error_message=None, topics=[TopicData(TOPIC, [partition])], nodes=self._nodes()
        )
        if context.api_version < _DIRECTORY_VERSION:
            # Older versions cannot say it, and refuse to be encoded with it.
            response.nodes.clear()
            for replica in (*partition.current_voters, *partition.observers):
                replica.replica_directory_id = ZERO_UUID
        return response

    def _not_leader(self) -> PartitionData:
        news = self._driver.leader
        return PartitionData(
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            error_message="This controller is not the leader of the quorum.",
            leader_id=-1 if news.leader_id is None else news.leader_id,
            leader_epoch=news.epoch,
        )

    def _state(self, status: ReplicaStatus) -> ReplicaState:
        return ReplicaState(
            status.replica.node_id,
            status.replica.directory_id,
            status.end_offset,
            status.last_fetch_at_ms,
            status.last_caught_up_at_ms,
        )

    def _fed(self) -> list[ReplicaState]:
        return [
            ReplicaState(
                client.node_id,
                log_end_offset=client.offset,
                last_fetch_timestamp=client.last_fetch_at_ms,
                last_caught_up_timestamp=client.last_caught_up_at_ms,
            )
            for client in self._feed_clients()
        ]

    def _nodes(self) -> list[Node]:
        return [
            Node(voter.node_id, [Listener(*endpoint) for endpoint in voter.endpoints])
            for voter in self._driver.node.quorum.history.voters
        ]

    # --- changes of voters (KIP-853)

    async def add_voter(
        self, request: AddRaftVoterRequest, context: Context
    ) -> AddRaftVoterResponse:
        if not self._is_ours(request.cluster_id):
            return AddRaftVoterResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        if not request.listeners:
            return AddRaftVoterResponse(
                error_code=ErrorCode.INVALID_REQUEST,
                error_message="Add voter request didn't include any listeners",
            )
        error, reason = await self._change(
            AddVoterRequest(
                0,
                ReplicaKey(NodeId(request.voter_id), request.voter_directory_id),
                tuple(Endpoint(at.name, at.host, at.port) for at in request.listeners),
                request.timeout_ms or _CHANGE_TIMEOUT_MS,
                request.ack_when_committed,
            )
        )
        return AddRaftVoterResponse(error_code=error, error_message=reason)

    async def remove_voter(
        self, request: RemoveRaftVoterRequest, context: Context
    ) -> RemoveRaftVoterResponse:
        if not self._is_ours(request.cluster_id):
            return RemoveRaftVoterResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        voter = ReplicaKey(NodeId(request.voter_id), request.voter_directory_id)
        error, reason = await self._change(RemoveVoterRequest(0, voter, _CHANGE_TIMEOUT_MS))
        return RemoveRaftVoterResponse(error_code=error, error_message=reason)

    async def _change(
        self, request: AddVoterRequest | RemoveVoterRequest
    ) -> tuple[ErrorCode, str | None]:
        if self._driver.node.quorum.leader is None:
            raise NotActive(self._driver.leader.leader_id)
        response = await self._driver.admin(request)
        return response.error, response.reason or None

    # --- features

    async def update_features(
        self, request: UpdateFeaturesRequest, context: Context
    ) -> UpdateFeaturesResponse:
        """UpdateFeatures (key 57): kraft.version is the quorum's, all others are records."""
        kraft_versions: list[int | None] = []

        def decide(view: View) -> FeatureUpdate:
            update = decide_update_features(view, request, context)
            kraft_versions.append(update.kraft_version)
            return update

        response = await self._engine.submit(decide)
        level = kraft_versions[0]
        if level is None:
            return response
        change = await self._driver.admin(UpgradeVersionRequest(0, level, _CHANGE_TIMEOUT_MS))
        if change.error is not ErrorCode.NONE:
            return UpdateFeaturesResponse(
                error_code=change.error, error_message=f"kraft.version: {change.reason}"
            )
        return response

    def _is_ours(self, cluster_id: str | None) -> bool:
        return cluster_id in (None, "", self._cluster_id)


def _unknown(name: str, partitions: list[int]) -> TopicData:
    return TopicData(
        name,
        [
            PartitionData(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
            for number in partitions
        ],
    )
