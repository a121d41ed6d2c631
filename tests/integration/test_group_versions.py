"""Every version of every api about groups, asked of a broker and answered."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import EmbeddedCluster
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.list_groups_request import ListGroupsRequest
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.sync_group_request import SyncGroupRequest
from barnabas_core.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas_core.wire.schema import Message
from tests.support.raw_client import RawClient

TOPIC = "grouped"
ANY_ERROR = tuple(ErrorCode)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    config = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
    with EmbeddedCluster(config=config) as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        yield cluster


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Iterator[RawClient]:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    with RawClient((host, int(port))) as client:
        found = client.ask(
            FindCoordinatorRequest(coordinator_keys=["group"]),
            4,
            API_BY_KEY[ApiKey.FIND_COORDINATOR].response,
        )
        assert found.coordinators[0].error_code == 0  # type: ignore[attr-defined]
        yield client


def find_coordinator(version: int) -> Message:
    if version < 4:
        return FindCoordinatorRequest("group")
    return FindCoordinatorRequest(coordinator_keys=["group", "other"])


def join_group(version: int) -> Message:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    return JoinGroupRequest(f"join-{version}", 10_000, 10_000, "", None, "consumer", protocols)


def sync_group(version: int) -> Message:
    return SyncGroupRequest("nobody", 1, "member")


def heartbeat(version: int) -> Message:
    return HeartbeatRequest("nobody", 1, "member")


def leave_group(version: int) -> Message:
    if version < 3:
        return LeaveGroupRequest("nobody", "member")
    return LeaveGroupRequest("nobody", members=[MemberIdentity("member")])


def offset_commit(version: int, topic_id: bytes = bytes(16)) -> Message:
    partitions = [OffsetCommitRequestPartition(0, 7)]
    topic = OffsetCommitRequestTopic(TOPIC, partitions=partitions)
    if version >= 10:
        topic = OffsetCommitRequestTopic("", topic_id, partitions)
    return OffsetCommitRequest("group", topics=[topic])


def txn_offset_commit(version: int, topic_id: bytes = bytes(16)) -> Message:
    partitions = [TxnOffsetCommitRequestPartition(0, 7)]
    topic = TxnOffsetCommitRequestTopic(TOPIC, partitions=partitions)
    if version >= 6:
        topic = TxnOffsetCommitRequestTopic("", topic_id, partitions)
    return TxnOffsetCommitRequest("transactions", "group", 1_000 + version, 0, topics=[topic])


def offset_fetch(version: int) -> Message:
    if version < 8:
        return OffsetFetchRequest("group", [OffsetFetchRequestTopic(TOPIC, [0])])
    topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])] if version < 10 else None
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("group", topics=topics)])


def offset_delete(version: int) -> Message:
    topic = OffsetDeleteRequestTopic(TOPIC, [OffsetDeleteRequestPartition(0)])
    return OffsetDeleteRequest("group", [topic])


def list_groups(version: int) -> Message:
    return ListGroupsRequest()


def describe_groups(version: int) -> Message:
    return DescribeGroupsRequest(["group", "other"])


def delete_groups(version: int) -> Message:
    return DeleteGroupsRequest(["nobody"])


def consumer_group_heartbeat(version: int) -> Message:
    return ConsumerGroupHeartbeatRequest(
        f"consumers-{version}", "member", 0, None, None, 10_000, [TOPIC], topic_partitions=[]
    )


def consumer_group_describe(version: int) -> Message:
    return ConsumerGroupDescribeRequest(["consumers-0"])


ASKED: dict[ApiKey, Callable[[int], Message]] = {
    ApiKey.FIND_COORDINATOR: find_coordinator,
    ApiKey.JOIN_GROUP: join_group,
    ApiKey.SYNC_GROUP: sync_group,
    ApiKey.HEARTBEAT: heartbeat,
    ApiKey.LEAVE_GROUP: leave_group,
    ApiKey.OFFSET_COMMIT: offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit,
    ApiKey.OFFSET_FETCH: offset_fetch,
    ApiKey.OFFSET_DELETE: offset_delete,
    ApiKey.LIST_GROUPS: list_groups,
    ApiKey.DESCRIBE_GROUPS: describe_groups,
    ApiKey.DELETE_GROUPS: delete_groups,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
}
VERSIONS = [
    (key, version)
    for key in ASKED
    for version in range(API_BY_KEY[key].min_version, API_BY_KEY[key].max_version + 1)
]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=lambda it: getattr(it, "name", it))
def test_every_version_is_answered(client: RawClient, key: ApiKey, version: int) -> None:
    answer: Any = client.ask(ASKED[key](version), version, API_BY_KEY[key].response)

    wrong = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNSUPPORTED_VERSION)
    assert getattr(answer, "error_code", 0) not in wrong
