"""Offsets of a transaction by way of a broker: pending in its shard until the marker is there.

The marker comes through the shard's session, as it will from the transaction coordinator.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from barnabas.async_cluster import AsyncCluster
from barnabas.cluster_options import ClusterOptions
from barnabas_broker.shards.shard_owner import ShardOwner, Waiting
from barnabas_core.links.shard_message import ShardRequest
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)
from barnabas_core.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from barnabas_core.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas_core.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse
from barnabas_core.wire.schema import Message
from tests.support.dump_log import batch_field, dump_files
from tests.support.external import JavaRuntime
from tests.support.raw_client import M, RawClient

TOPIC, GROUP, SHARDS = "orders", "exactly-once", "__consumer_offsets"
PRODUCER_ID, EPOCH = 4_000, 2
DEADLINE_S = 60


class Transactions:
    """A broker with one shard, its clients, and whoever writes markers."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self._cluster = cluster
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        self._address = host, int(port)

    async def ask(self, request: Message, version: int, response: type[M]) -> M:
        def asked() -> M:
            with RawClient(self._address) as client:
                return client.ask(request, version, response)

        return await asyncio.to_thread(asked)

    async def find(self) -> None:
        request = FindCoordinatorRequest(coordinator_keys=[GROUP])
        found = await self.ask(request, 4, FindCoordinatorResponse)
        assert found.coordinators[0].error_code == ErrorCode.NONE

    async def commit(self, offset: int, epoch: int = EPOCH) -> ErrorCode:
        partition = TxnOffsetCommitRequestPartition(0, offset)
        topic = TxnOffsetCommitRequestTopic(TOPIC, partitions=[partition])
        request = TxnOffsetCommitRequest("mine", GROUP, PRODUCER_ID, epoch, topics=[topic])
        answer = await self.ask(request, 3, TxnOffsetCommitResponse)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    async def fetch(self, *, require_stable: bool) -> OffsetFetchResponsePartitions:
        topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])]
        groups = [OffsetFetchRequestGroup(GROUP, topics=topics)]
        request = OffsetFetchRequest(groups=groups, require_stable=require_stable)
        answer = await self.ask(request, 8, OffsetFetchResponse)
        return answer.groups[0].topics[0].partitions[0]

    @property
    def owner(self) -> ShardOwner:
        shards = self._cluster.broker._groups._shards
        assert shards is not None
        owner = shards.owner(0)
        assert owner is not None
        return owner

    async def end(self, *, commit: bool) -> ErrorCode:
        marker = WritableTxnMarker(
            PRODUCER_ID, EPOCH, commit, [WritableTxnMarkerTopic(SHARDS, [0])], coordinator_epoch=1
        )
        body = encode(WriteTxnMarkersRequest([marker]), 1)
        key = ApiKey.WRITE_TXN_MARKERS
        item = ShardRequest(0, 0, key, 1, -1, "", "/", "User:ANONYMOUS", "", body)
        answered: asyncio.Future[bytes | ErrorCode]
        answered = asyncio.get_running_loop().create_future()
        self.owner.ask(item, Waiting(answered.set_result))
        async with asyncio.timeout(DEADLINE_S):
            found = await answered
        assert isinstance(found, bytes), found
        answer = decode(WriteTxnMarkersResponse, 1, found)
        return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)

    async def move(self) -> None:
        """The shard is loaded anew, from its log alone."""
        self.owner.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        await self.find()


def on_a_cluster(act: Callable[[Transactions], Awaitable[None]], directory: Path) -> None:
    async def run() -> None:
        config = {"offsets.topic.num.partitions": "1"}
        options = ClusterOptions(data=str(directory), config=config)
        async with AsyncCluster(options) as cluster:
            await cluster.create_topic(TOPIC, partitions=1)
            transactions = Transactions(cluster)
            await transactions.find()
            await act(transactions)

    asyncio.run(run())


async def _until_ended(on: Transactions, *, commit: bool, is_moved: bool) -> None:
    assert await on.commit(7) is ErrorCode.NONE
    if is_moved:
        await on.move()

    unstable = await on.fetch(require_stable=True)
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert (await on.fetch(require_stable=False)).committed_offset == -1
    assert await on.commit(6, EPOCH - 1) is ErrorCode.INVALID_PRODUCER_EPOCH

    assert await on.end(commit=commit) is ErrorCode.NONE
    if is_moved:
        await on.move()
    stable = await on.fetch(require_stable=True)
    assert (stable.error_code, stable.committed_offset) == (0, 7 if commit else -1)
    assert await on.commit(6, EPOCH - 1) is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("is_moved", [True, False])
def test_an_offset_is_pending_until_the_marker(
    tmp_path: Path, commit: bool, is_moved: bool
) -> None:
    on_a_cluster(partial(_until_ended, commit=commit, is_moved=is_moved), tmp_path)


def test_kafkas_dump_tool_decodes_what_is_written(tmp_path: Path, java: JavaRuntime) -> None:
    on_a_cluster(partial(_until_ended, commit=True, is_moved=False), tmp_path)

    (segment,) = tmp_path.rglob(f"{SHARDS}-0/*.log")
    dump = dump_files(java, [segment], "--offsets-decoder", print_data=False)

    assert not dump.complaints
    written = [line for line in dump.batches if batch_field(line, "producerId") != "-1"]
    assert [batch_field(line, "isTransactional") for line in written] == ["true", "true"]
    assert [batch_field(line, "isControl") for line in written] == ["false", "true"]
    assert {batch_field(line, "producerId") for line in written} == {str(PRODUCER_ID)}
    assert {batch_field(line, "producerEpoch") for line in written} == {str(EPOCH)}
    assert any(f'"group":"{GROUP}"' in record.line for record in dump.records)
    assert any("endTxnMarker: COMMIT" in record.line for record in dump.records)
