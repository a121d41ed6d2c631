"""A quorum of real drivers on a real disk, over links within the process.

Each node has a state machine that keeps every record it was told of, checks what a driver promises
to its listener, and writes snapshots of its list.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from barnabas_controller.quorum.driver import QuorumDriver, QuorumPorts
from barnabas_controller.quorum.listener import SnapshotSource
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.ports.link import Address, Identity, LinkServer, Purpose
from barnabas_core.raft import NodeId, RaftConfig, ReplicaKey, SnapshotId, Voter, VoterSet
from barnabas_core.raft.checkpoint_file import build_checkpoint, checkpoint_name
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.message import LeaderNews
from barnabas_core.raft.raft_log import BOOTSTRAP_SNAPSHOT
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
FAST = RaftConfig(
    election_timeout_ms=150,
    fetch_timeout_ms=400,
    fetch_max_wait_ms=100,
    request_timeout_ms=400,
    snapshot_max_bytes=4096,
)
WAIT_S = 20
Settings = dict[str, Any]
"""Of `QuorumConfig`."""
BATCH_RECORDS = 100


def directory_id(node_id: int, disk: int = 1) -> bytes:
    return bytes([node_id] * 15 + [disk])


def endpoints_of(node_id: int) -> tuple[Endpoint, ...]:
    """CONTROLLER alone: links are found above its port."""
    return (Endpoint("CONTROLLER", f"node-{node_id}", 9093),)


def voter_set(*node_ids: int) -> VoterSet:
    return VoterSet.of(
        Voter(ReplicaKey(NodeId(one), directory_id(one)), endpoints_of(one)) for one in node_ids
    )


class RecordingListener:
    """The committed records in order, then those that this node made and waits for."""

    def __init__(self) -> None:
        self.committed: list[bytes] = []
        self.offset = 0
        self.own: list[tuple[int, list[bytes]]] = []
        self.active_epoch: int | None = None
        self.news = LeaderNews(0, None)
        self.loaded: list[SnapshotId] = []
        self.batch_count = 0
        self._loading: SnapshotId | None = None

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        assert self.active_epoch is None
        self.committed = []
        self._loading = snapshot_id

    def on_batch(self, batch: CommittedBatch) -> None:
        assert self.active_epoch is None
        if self._loading is None:
            assert batch.base_offset == self.offset, "in order and without a gap"
            self.offset = batch.end_offset
            self.batch_count += 1
        self.committed += [bytes(value) for value in batch.values]

    def on_snapshot_end(self) -> None:
        assert self._loading is not None
        self.offset = self._loading.end_offset
        self.loaded.append(self._loading)
        self._loading = None

    def on_active(self, epoch: int, end_offset: int) -> None:
        assert self.active_epoch is None
        assert end_offset >= self.offset
        self.active_epoch = epoch

    def on_committed(self, end_offset: int) -> None:
        assert self.active_epoch is not None
        assert end_offset > self.offset
        while self.own and self.own[0][0] <= end_offset:
            self.committed += self.own.pop(0)[1]
        self.offset = end_offset

    def on_inactive(self) -> None:
        assert self.active_epoch is not None
        self.active_epoch = None
        self.own = []

    def on_leader(self, news: LeaderNews) -> None:
        self.news = news

    def begin_snapshot(self) -> SnapshotSource | None:
        if self._loading is not None:
            return None
        return SnapshotSource(self.offset, 1, self._batches(list(self.committed)))

    @staticmethod
    def _batches(records: list[bytes]) -> Iterator[list[bytes]]:
        for start in range(0, len(records), BATCH_RECORDS):
            yield records[start : start + BATCH_RECORDS]


class LabNode:
    def __init__(self, lab: "QuorumLab", config: QuorumConfig) -> None:
        self._lab = lab
        self.config = config
        self.listener = RecordingListener()
        self.fatal: list[BaseException] = []
        self._driver: QuorumDriver | None = None
        self._server: LinkServer | None = None

    @property
    def driver(self) -> QuorumDriver:
        assert self._driver is not None, "the node runs"
        return self._driver

    @property
    def is_running(self) -> bool:
        return self._driver is not None

    @property
    def path(self) -> Path:
        return Path(self.config.metadata_dir) / "__cluster_metadata-0"

    async def start(self) -> None:
        self.listener = RecordingListener()
        lab, node_id = self._lab, self.config.node_id
        identity = Identity(CLUSTER_ID, node_id, "controller")
        links = LocalLinks(lab.network, identity, lab.clock, lab.log)
        ports = QuorumPorts(lab.disk, lab.executor, lab.clock, SystemRng(), links)
        driver = QuorumDriver(self.config, ports, self.listener, self.fatal.append)
        endpoint = self.config.endpoints[0]
        address = Address(endpoint.host, endpoint.port + self.config.internal_port_offset)
        self._server = await links.serve(address, {Purpose.RAFT: driver.raft_service})
        self._driver = driver
        await driver.start()

    async def stop(self) -> None:
        await self.driver.stop()
        await self._disconnect()

    async def kill(self) -> None:
        """As a crash of the process: nothing more reaches the disk or the others."""
        self.driver.abandon()
        await self._disconnect()
        # What a thread was in the middle of is over before anybody opens these files again.
        self._lab.executor.close()

    async def _disconnect(self) -> None:
        assert self._server is not None
        await self._server.close()
        driver, self._driver = self.driver, None
        await driver.close_links()

    def append(self, *values: bytes) -> int:
        """One batch; the offset after it."""
        listener = self.listener
        assert listener.active_epoch is not None, "the node is active"
        end_offset = self.driver.append(listener.active_epoch, [values], 1)
        listener.own.append((end_offset, list(values)))
        return end_offset

    async def commit(self, *values: bytes) -> int:
        end_offset = self.append(*values)
        await self.until_committed(end_offset)
        return end_offset

    async def until_committed(self, end_offset: int) -> None:
        await until(lambda: self.listener.offset >= end_offset, f"{end_offset} is committed")


async def until(condition: Callable[[], object], what: str) -> None:
    """Not timed: a bound on a test that would hang."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  whatever it is, nobody announces it
            await asyncio.sleep(0.002)
    assert condition(), what


class QuorumLab:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = EventLog(level="error")
        self.clock = SystemClock()
        self.disk = RealDisk()
        self.executor = SystemExecutor()
        self.network = LocalNetwork(self.log)
        self.nodes: dict[int, LabNode] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for node in self.nodes.values():
            if node.is_running:
                await node.stop()
        self.executor.close()
        for node in self.nodes.values():
            assert node.fatal == [], node.fatal

    def __getitem__(self, node_id: int) -> LabNode:
        return self.nodes[node_id]

    def add(self, node_id: int, *, disk: int = 1, settings: Settings | None = None) -> LabNode:
        """A node, not yet running."""
        path = self.directory / f"{node_id}-{disk}"
        path.mkdir(exist_ok=True)
        fields: dict[str, Any] = {
            "node_id": node_id,
            "cluster_id": CLUSTER_ID,
            "metadata_dir": str(path),
            "directory_id": directory_id(node_id, disk),
            "endpoints": endpoints_of(node_id),
            "raft": FAST,
            **(settings or {}),
        }
        node = LabNode(self, QuorumConfig(**fields))
        self.nodes[node_id] = node
        return node

    def format(self, node: LabNode, voters: VoterSet) -> None:
        """What `kafka-storage format` leaves: the first snapshot, with the voters."""
        node.path.mkdir(exist_ok=True)
        parts = build_checkpoint(
            [], last_appended_at_ms=0, timestamp_ms=1, kraft_version=1, voters=voters
        )
        (node.path / checkpoint_name(BOOTSTRAP_SNAPSHOT)).write_bytes(b"".join(parts))

    async def start(
        self, *node_ids: int, dynamic: bool = True, settings: Settings | None = None
    ) -> None:
        voters = voter_set(*node_ids)
        for node_id in node_ids:
            if dynamic:
                self.format(self.add(node_id, settings=settings), voters)
            else:
                self.add(node_id, settings={"static_voters": voters, **(settings or {})})
        for node_id in node_ids:
            await self[node_id].start()

    def active(self) -> LabNode | None:
        found = [node for node in self.running() if node.driver.is_active]
        # A deposed leader may not know yet; the newest epoch counts.
        return max(found, key=lambda node: node.driver.leader.epoch, default=None)

    def running(self) -> list[LabNode]:
        return [node for node in self.nodes.values() if node.is_running]

    async def leader(self) -> LabNode:
        await until(lambda: self.active() is not None, "there is an active node")
        found = self.active()
        assert found is not None
        return found

    async def settle(self) -> None:
        """Until everyone has what the leader has."""
        offset = (await self.leader()).driver.end_offset
        await until(
            lambda: all(node.listener.offset >= offset for node in self.running()),
            f"everyone is at {offset}",
        )
