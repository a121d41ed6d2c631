"""An operator's questions, over links within a process and over gRPC."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.local_node import (
    LocalPorts,
    LocalSpec,
    format_cluster,
    local_broker,
    local_controller,
)
from barnabas_controller import inventory
from barnabas_core.config.listener import Listener
from barnabas_core.links.cluster_health import ClusterHealthClient, HealthCall, HealthService
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.ports.link import Call, CallRefused, Identity, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from tests.support.controller_process import CLUSTER_ID, controllers
from tests.support.link_lab import KINDS, Lab, in_lab

if TYPE_CHECKING:
    from barnabas_broker.service import BrokerService
    from barnabas_controller.service import ControllerService

DEADLINE_S = 60


class Cluster:
    """A controller and three brokers on local links, and an operator beside them."""

    def __init__(self, path: Path) -> None:
        self.executor = SystemExecutor()
        self.log = EventLog(level="error")
        self.ports = LocalPorts(
            SystemClock(), SystemRng(), RealDisk(), self.executor, LocalNetwork(self.log),
            SystemListener, self.log,
        )  # fmt: skip
        self._directories = {number: str(path / f"node-{number}") for number in (1, 2, 3)}
        self.cluster_id = format_cluster(self._directories, self.ports)
        self.controller: ControllerService | None = None
        self.brokers: dict[int, BrokerService] = {}
        self._stack = AsyncExitStack()

    def _spec(self, node_id: int) -> LocalSpec:
        listener = Listener("PLAINTEXT", "127.0.0.1", 0, "PLAINTEXT")
        config = {"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"}
        return LocalSpec(node_id, self._directories[node_id], listener, "127.0.0.1", 3, config)

    async def start(self) -> None:
        self.controller = local_controller(self._spec(1), self.ports)
        await self.controller.start()
        self._stack.push_async_callback(self.controller.stop)
        for node_id in (1, 2, 3):
            broker = self.brokers[node_id] = local_broker(self._spec(node_id), self.ports, None)
            await broker.start()
            self._stack.push_async_callback(broker.stop)

    async def stop(self) -> None:
        await self._stack.aclose()
        self.executor.close()

    def client(self, role: str = "operator") -> ClusterHealthClient:
        assert self.controller is not None
        links = LocalLinks(
            self.ports.network, Identity(self.cluster_id, -1, role), self.ports.clock, self.log
        )
        client = ClusterHealthClient(links, [self.controller.internal_address], self.ports.clock)
        self._stack.push_async_callback(client.close)
        return client

    async def create_topic(self, client: ClusterHealthClient, name: str) -> None:
        request = CreateTopicsRequest([CreatableTopic(name, 6, 3)], timeout_ms=10_000)
        body = await client.admin(ApiKey.CREATE_TOPICS, 7, encode(request, 7))
        (topic,) = decode(CreateTopicsResponse, 7, body).topics
        assert topic.error_code == 0, topic


def in_cluster(path: Path, scenario: Callable[[Cluster], Awaitable[None]]) -> None:
    async def run() -> None:
        cluster = Cluster(path)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await cluster.start()
                await scenario(cluster)
        finally:
            await cluster.stop()

    asyncio.run(run())


def test_brokers_are_let_go_one_by_one(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = cluster.client()
        await cluster.create_topic(client, "t")

        asked = await client.pre_restart_check(2)
        assert asked.is_safe
        assert asked.permit_ms == 0
        assert asked.at_min_isr.count == 6
        assert {one.topic for one in asked.at_min_isr.first} == {"t"}
        granted = await client.pre_restart_check(2, wants_permit=True)
        assert granted.permit_ms > 0
        refused = await client.pre_restart_check(3, wants_permit=True)

        assert not refused.is_safe
        assert refused.permit_ms == 0
        assert list(refused.permitted) == [2]
        assert refused.under_min_isr.count == 6
        assert list(refused.reasons) == ["6 partitions would be under min ISR"]

    in_cluster(tmp_path, scenario)


def test_a_broker_is_back_when_its_replicas_are_in_sync(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = cluster.client()
        await cluster.create_topic(client, "t")
        broker = cluster.brokers[3]
        at, purpose = broker.internal_address, Purpose.BROKER_HEALTH

        while (answer := await client.post_restart_check(at, purpose)).replica_count < 6:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

        assert answer.is_done, answer.reason
        assert answer.in_sync_count == 6
        versions = await client.versions(at, purpose)
        assert versions.role == "broker"
        assert versions.release
        assert versions.features["metadata.version"] > 0

    in_cluster(tmp_path, scenario)


def test_a_drained_broker_leads_nothing_and_is_still_in_sync(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = cluster.client()
        await cluster.create_topic(client, "t")
        assert cluster.controller is not None

        answer = await client.drain(2)

        assert answer.moved_count == 2
        assert answer.left.count == 0
        topic = cluster.controller.engine.committed.topics.named("t")
        assert topic is not None
        for partition in topic.partitions.values():
            assert partition.leader in (1, 3)
            assert sorted(partition.isr) == [1, 2, 3]
        assert (await client.drain(2)).moved_count == 0

    in_cluster(tmp_path, scenario)


def test_a_controller_tells_of_its_quorum_and_itself(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = cluster.client()
        assert cluster.controller is not None

        quorum = await client.quorum_check()

        assert quorum.leader_id == 1
        assert quorum.is_healthy
        assert not quorum.survives_loss
        assert [(one.node_id, one.lag, one.is_caught_up) for one in quorum.voters] == [(1, 0, True)]
        at, purpose = cluster.controller.internal_address, Purpose.CLUSTER_HEALTH
        assert (await client.post_restart_check(at, purpose)).is_done
        assert (await client.versions(at, purpose)).role == "controller"

    in_cluster(tmp_path, scenario)


def test_the_inventory_has_all_topics_page_by_page(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        client = cluster.client()
        for name in ("a", "b", "c"):
            await cluster.create_topic(client, name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inventory, "PAGE_PARTITIONS", 12)
            first = await client.inventory()
            second = await client.inventory(first.topics[-1].name)

        assert [one.name for one in first.topics] == ["a", "b"]
        assert first.has_more
        assert [one.name for one in second.topics] == ["c"]
        assert not second.has_more
        assert sorted(one.node_id for one in first.brokers) == [1, 2, 3]
        (topic,) = second.topics
        assert topic.min_isr == 2
        assert [one.number for one in topic.partitions] == list(range(6))
        assert all(sorted(one.replicas) == [1, 2, 3] for one in topic.partitions)
        assert first.features["metadata.version"] > 0

    in_cluster(tmp_path, scenario)


@pytest.mark.parametrize("role", ["broker", "controller", ""])
def test_only_an_operator_is_answered(tmp_path: Path, role: str) -> None:
    async def scenario(cluster: Cluster) -> None:
        with pytest.raises(CallRefused, match="only an operator"):
            await cluster.client(role).quorum_check()

    in_cluster(tmp_path, scenario)


@pytest.mark.parametrize("kind", KINDS)
def test_rubbish_is_refused_over_either_kind_of_link(kind: str) -> None:
    async def scenario(lab: Lab) -> None:
        service = HealthService({HealthCall.QUORUM: _never})
        server = await lab.serve(service, purpose=Purpose.CLUSTER_HEALTH)
        links = lab.links(9, role="operator")
        link = lab.open(server.address, links=links, purpose=Purpose.CLUSTER_HEALTH)

        for call in (Call(HealthCall.QUORUM, 0, b"\xff\xff"), Call(99, 0, b""), Call(5, 0, b"")):
            with pytest.raises(CallRefused):
                await link.call(call, 10_000)

    in_lab(kind, scenario)


async def _never(request: object) -> object:
    raise AssertionError("nothing that makes sense was asked")


def test_three_controllers_as_processes_answer_over_grpc(tmp_path: Path) -> None:
    with controllers(tmp_path, 3) as quorum:
        active = quorum.wait_active()

        async def ask() -> None:
            clock, log = SystemClock(), EventLog(level="error")
            links = GrpcLinks(Identity(CLUSTER_ID, -1, "operator"), clock, log)
            client = ClusterHealthClient(links, quorum.links, clock)
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await _ask_three(client, active)
            finally:
                await client.close()

        asyncio.run(ask())


async def _ask_three(client: ClusterHealthClient, active: int) -> None:
    while not (quorum := await client.quorum_check()).survives_loss:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert quorum.leader_id == active
    assert len(quorum.voters) == 3
    first, second = (one for one in (1, 2, 3) if one != active)
    assert (await client.pre_restart_check(first)).is_safe
    granted = await client.pre_restart_check(first, wants_permit=True)
    if not granted.permit_ms:
        # There was more than one election at the start.
        assert any("permits of the one before" in reason for reason in granted.reasons)
        return
    refused = await client.pre_restart_check(second)
    assert list(refused.reasons) == ["the quorum would lose its majority"]
