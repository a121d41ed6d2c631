"""What groups are told when their records cannot be committed."""

import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

from barnabas import EmbeddedCluster
from barnabas_broker.shards import group_coordination
from barnabas_broker.shards.internal_topic import GROUP_TOPIC
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from tests.support.controller_process import until
from tests.support.raw_client import RawClient

CONFIG = {
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.commit.timeout.ms": "300",
}


def commit(client: RawClient, offset: int) -> ErrorCode:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="orders", partitions=[partition])
    request = OffsetCommitRequest(group_id="g", topics=[topic])
    response = client.ask(request, 8, OffsetCommitResponse)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def committed(client: RawClient) -> int:
    topic = OffsetFetchRequestTopic("orders", [0])
    response = client.ask(OffsetFetchRequest("g", [topic]), 7, OffsetFetchResponse)
    return response.topics[0].partitions[0].committed_offset


def in_sync_count(client: RawClient) -> int:
    request = MetadataRequest([MetadataRequestTopic(name=GROUP_TOPIC)])
    topic = client.ask(request, 12, MetadataResponse).topics[0]
    return len(topic.partitions[0].isr_nodes)


def find(cluster: EmbeddedCluster) -> tuple[tuple[str, int], int]:
    """Where the coordinator of the group is, and the number of the other broker."""
    cluster.create_topic("orders", partitions=1)
    servers = [server.rpartition(":") for server in cluster.bootstrap_servers.split(",")]
    addresses = {number + 1: (it[0], int(it[2])) for number, it in enumerate(servers)}
    with RawClient(addresses[1]) as client:
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        found = client.ask(request, 4, FindCoordinatorResponse).coordinators[0]
    return addresses[found.node_id], 3 - found.node_id


def test_a_commit_that_too_few_replicas_have_is_refused_after_a_while() -> None:
    with EmbeddedCluster(brokers=2, config=CONFIG) as cluster:
        address, other = find(cluster)
        with RawClient(address) as client:
            until(lambda: commit(client, 1) is ErrorCode.NONE, "a commit")

            cluster.kill_broker(other)
            assert commit(client, 2) is ErrorCode.COORDINATOR_NOT_AVAILABLE

            cluster.start_broker(other)
            until(lambda: commit(client, 3) is ErrorCode.NONE, "a commit by both again")


def test_a_commit_waits_for_its_replicas_as_long_as_it_is_told_to() -> None:
    """What holds where nothing is told would be over long before the other broker is back."""
    config = CONFIG | {"offsets.commit.timeout.ms": "60000"}
    with (
        patch.object(group_coordination, "_COMMIT_TIMEOUT_S", 0.1),
        EmbeddedCluster(brokers=2, config=config) as cluster,
        ThreadPoolExecutor(1) as thread,
    ):
        address, other = find(cluster)
        with RawClient(address) as client:
            until(lambda: commit(client, 1) is ErrorCode.NONE, "a commit")
            cluster.kill_broker(other)
            answer = thread.submit(commit, client, 2)
            time.sleep(1)
            cluster.start_broker(other)

            assert answer.result(60) is ErrorCode.NONE


def test_while_too_few_are_in_sync_commits_are_refused_at_once_and_offsets_can_be_read() -> None:
    """Whatever a commit may wait for: that is the limit for those under way."""
    config = CONFIG | {"offsets.commit.timeout.ms": "600000"}
    with EmbeddedCluster(brokers=2, config=config) as cluster:
        address, other = find(cluster)
        with RawClient(address) as client:
            until(lambda: commit(client, 1) is ErrorCode.NONE, "a commit")
            cluster.kill_broker(other)
            until(lambda: in_sync_count(client) == 1, "one replica in sync")

            assert commit(client, 2) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert committed(client) == 1

            cluster.start_broker(other)
            until(lambda: commit(client, 3) is ErrorCode.NONE, "a commit by both again")
            assert committed(client) == 3
