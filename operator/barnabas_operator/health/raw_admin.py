"""Requests of Kafka's admin protocol that no client library has, and what their answers say."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas_core.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from barnabas_core.wire.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    ReplicaState,
)
from barnabas_core.wire.messages.elect_leaders_request import (
    ElectLeadersRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from barnabas_operator.plan.actions import Move
from barnabas_operator.plan.observed import QuorumMember, QuorumState

TIMEOUT_MS: Final = 10_000
_BROKER_RESOURCE: Final = 4
_SET, _DELETE = 0, 1
_UPGRADE: Final = 1
_METADATA_TOPIC: Final = "__cluster_metadata"
_CAUGHT_UP_MS: Final = 5_000
_NO_DIRECTORY: Final = bytes(16)


def describe_quorum() -> DescribeQuorumRequest:
    return DescribeQuorumRequest([TopicData(_METADATA_TOPIC, [PartitionData(0)])])


def read_quorum(response: DescribeQuorumResponse) -> QuorumState | None:
    """None if whoever answered does not lead: it does not know who has caught up."""
    partitions = [one for topic in response.topics for one in topic.partitions]
    if response.error_code or not partitions or partitions[0].error_code:
        return None
    partition = partitions[0]
    newest_ms = max((one.last_caught_up_timestamp for one in partition.current_voters), default=-1)

    def member(one: ReplicaState) -> QuorumMember:
        is_caught_up = one.last_caught_up_timestamp >= newest_ms - _CAUGHT_UP_MS
        return QuorumMember(one.replica_id, one.replica_directory_id, is_caught_up)

    return QuorumState(
        partition.leader_id,
        tuple(member(one) for one in partition.current_voters),
        # Who only follows the feed is listed too, without a directory.
        tuple(
            member(one) for one in partition.observers if one.replica_directory_id != _NO_DIRECTORY
        ),
    )


def reassign(moves: Iterable[Move]) -> AlterPartitionReassignmentsRequest:
    topics: dict[str, list[ReassignablePartition]] = defaultdict(list)
    for move in moves:
        topics[move.topic].append(ReassignablePartition(move.number, list(move.replicas)))
    return AlterPartitionReassignmentsRequest(
        timeout_ms=TIMEOUT_MS,
        topics=[ReassignableTopic(name, partitions) for name, partitions in topics.items()],
    )


def reassign_errors(response: AlterPartitionReassignmentsResponse) -> dict[str, str]:
    if response.error_code:
        return {"": _told(response.error_code, response.error_message)}
    return {
        topic.name: _told(one.error_code, one.error_message)
        for topic in response.responses
        for one in topic.partitions
        if one.error_code
    }


def set_broker_config(
    changes: Mapping[str, str | None], broker: str = ""
) -> IncrementalAlterConfigsRequest:
    """Of one broker, or by default of all."""
    configs = [
        AlterableConfig(name, _DELETE if value is None else _SET, value)
        for name, value in changes.items()
    ]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(_BROKER_RESOURCE, broker, configs)])


def config_errors(response: IncrementalAlterConfigsResponse) -> list[str]:
    return [
        _told(one.error_code, one.error_message) for one in response.responses if one.error_code
    ]


def elect_preferred(partitions: Iterable[tuple[str, int]]) -> ElectLeadersRequest:
    topics: dict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(number)
    return ElectLeadersRequest(
        election_type=0,
        topic_partitions=[TopicPartitions(name, numbers) for name, numbers in topics.items()],
        timeout_ms=TIMEOUT_MS,
    )


def election_errors(response: ElectLeadersResponse) -> list[str]:
    """That there was nothing to elect is none, nor that it is no longer possible."""
    codes = [response.error_code]
    harmless = (
        ErrorCode.NONE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    codes += [
        one.error_code
        for topic in response.replica_election_results
        for one in topic.partition_result
    ]
    return [_told(code, None) for code in codes if code not in harmless]


def update_features(levels: Mapping[str, int]) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        timeout_ms=TIMEOUT_MS,
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=_UPGRADE)
            for name, level in levels.items()
        ],
    )


def _told(code: int, message: str | None) -> str:
    name = ErrorCode(code).name
    return f"{name}: {message}" if message else name


def told(code: int, message: str | None) -> str | None:
    """None if it is no error."""
    return _told(code, message) if code else None
