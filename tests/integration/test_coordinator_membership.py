"""Coordinators register with a controller, over links within a process."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.local_node import LocalPorts, LocalSpec, format_cluster, local_controller
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.membership import MembershipConfig
from barnabas_coordinator.service import CoordinatorConfig, CoordinatorPorts, CoordinatorService
from barnabas_core.config.listener import Listener
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.coordinator_message import (
    HEARTBEAT,
    REGISTER,
    Heartbeat,
    LiveCoordinator,
    Registration,
    encode_registration,
)
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.ports.link import Address, Call, CallRefused, Identity, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import encode
from barnabas_core.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from barnabas_controller.service import ControllerService

DEADLINE_S = 60
NOBODY = "no coordinator that is known here"
TIMES = {"broker.heartbeat.interval.ms": "100", "broker.session.timeout.ms": "2000"}


class Place:
    """A controller, and whoever is started beside it."""

    def __init__(self, path: Path, times: Mapping[str, str] = TIMES) -> None:
        self.executor = SystemExecutor()
        self.lines = io.StringIO()
        self.log = EventLog(stream=self.lines)
        self.ports = LocalPorts(
            SystemClock(), SystemRng(), RealDisk(), self.executor, LocalNetwork(self.log),
            SystemListener, self.log,
        )  # fmt: skip
        directories = {1: str(path / "node-1")}
        self.cluster_id = format_cluster(directories, self.ports)
        listener = Listener("PLAINTEXT", "127.0.0.1", 0, "PLAINTEXT")
        self._spec = LocalSpec(1, directories[1], listener, "127.0.0.1", 1, times)
        self.controller: ControllerService | None = None
        self.stack = AsyncExitStack()

    @property
    def controllers(self) -> list[Address]:
        assert self.controller is not None
        return [self.controller.internal_address]

    @property
    def node_ids(self) -> list[int]:
        """Of those that the controller knows."""
        assert self.controller is not None
        liveness = self.controller.coordinators.liveness
        return [] if liveness is None else [node_id for _, node_id in sorted(liveness.sessions)]

    async def start_controller(self) -> None:
        self.controller = local_controller(self._spec, self.ports)
        await self.controller.start()

    async def stop_controller(self) -> None:
        if self.controller is not None:
            await self.controller.stop()
            self.controller = None

    async def close(self) -> None:
        await self.stack.aclose()
        await self.stop_controller()
        self.executor.close()

    def links(self, node_id: int, role: str, incarnation: int = 1) -> LocalLinks:
        identity = Identity(self.cluster_id, node_id, role, bytes([incarnation]) * 16)
        return LocalLinks(self.ports.network, identity, self.ports.clock, self.log)

    async def start_coordinator(
        self, node_id: int, *, incarnation: int = 1, host: str = "coordinator"
    ) -> CoordinatorService:
        settings = GroupSettings.from_broker({})
        config = CoordinatorConfig(
            self.controllers,
            Address(host, node_id),
            lambda: GroupShard(settings),
            MembershipConfig(host, "rack", heartbeat_interval_ms=100, session_timeout_ms=2_000),
        )
        on = self.ports
        links = self.links(node_id, "group", incarnation)
        ports = CoordinatorPorts(on.clock, on.rng, on.executor, links, on.log)
        service = CoordinatorService(config, ports)
        await service.start()
        return service

    def broker(self) -> "Broker":
        return Broker(self)


class Broker:
    """As much of one as the controller tells of coordinators."""

    def __init__(self, place: Place) -> None:
        self.view = CoordinatorView(place.log)
        links = place.links(7, "broker")
        self.client = ControllerClient(
            links, place.controllers, Purpose.MEMBERSHIP, place.ports.clock, self.view.events
        )
        place.stack.push_async_callback(self.client.close)

    @property
    def live(self) -> list[LiveCoordinator]:
        return self.view.of("group")

    @property
    def node_ids(self) -> list[int]:
        return [one.node_id for one in self.live]

    async def call(self) -> None:
        """Anything: it is refused, and the list comes all the same."""
        request = AllocateProducerIdsRequest(broker_id=7)
        version = API_BY_KEY[ApiKey.ALLOCATE_PRODUCER_IDS].max_version
        body = encode(request, version)
        await self.client.call(Call(ApiKey.ALLOCATE_PRODUCER_IDS, version, body), 10_000)


def in_place(
    path: Path, scenario: Callable[[Place], Awaitable[None]], times: Mapping[str, str] = TIMES
) -> None:
    async def run() -> None:
        place = Place(path, times)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await place.start_controller()
                await scenario(place)
        finally:
            await place.close()

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for knows nothing of the test
        await asyncio.sleep(0.01)


def test_a_broker_is_told_with_its_first_call_and_of_every_change(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        broker = place.broker()
        one = await place.start_coordinator(101)
        await broker.call()
        await until(lambda: broker.node_ids == [101])
        (seen,) = broker.live
        assert (seen.address, seen.rack) == (Address("coordinator", 101), "rack")
        assert seen.incarnation_id == bytes([1]) * 16
        await until(lambda: broker.view.is_full)  # without another call

        two = await place.start_coordinator(102)
        await until(lambda: broker.node_ids == [101, 102])
        await one.stop()
        await until(lambda: broker.node_ids == [102])
        await two.stop()
        await until(lambda: broker.node_ids == [])

    in_place(tmp_path, scenario)


def test_one_that_drains_says_so_and_is_gone_when_it_stops(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        broker = place.broker()
        one, two = [await place.start_coordinator(number) for number in (101, 102)]
        await broker.call()
        await until(lambda: broker.node_ids == [101, 102])

        await one.drain()  # it has no sessions: nobody is waited for
        await until(lambda: [it.is_draining for it in broker.live] == [True, False])
        await one.stop()
        await until(lambda: broker.node_ids == [102])
        await two.stop()

    in_place(tmp_path, scenario)


def test_a_second_process_of_one_name_waits_for_the_first_to_end(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        broker = place.broker()
        first = await place.start_coordinator(101)
        await broker.call()
        await until(lambda: broker.node_ids == [101])

        second = await place.start_coordinator(101, incarnation=2, host="elsewhere")
        await until(lambda: "another process is registered" in place.lines.getvalue())
        assert broker.live[0].incarnation_id == bytes([1]) * 16
        await first.stop()

        await until(lambda: [it.incarnation_id[0] for it in broker.live] == [2])
        assert broker.live[0].address == Address("elsewhere", 101)
        await second.stop()

    in_place(tmp_path, scenario)


def test_coordinators_register_again_with_a_new_controller(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        broker = place.broker()
        one = await place.start_coordinator(101)
        await broker.call()
        await until(lambda: broker.node_ids == [101] and broker.view.is_full)

        await place.stop_controller()
        await place.start_controller()
        await broker.call()
        await until(lambda: not broker.view.is_full)
        assert broker.node_ids == [101]
        await until(lambda: broker.view.is_full)
        assert broker.node_ids == [101]
        await one.stop()

    in_place(tmp_path, scenario)


def test_the_end_of_an_older_stream_says_nothing(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        register = Call(
            REGISTER, 0, encode_registration(Registration(Address("h", 1), None, ()), Heartbeat(0))
        )
        older, newer = [place.links(101, "group") for _ in range(2)]
        other = place.links(102, "group")
        clients = [
            ControllerClient(links, place.controllers, Purpose.MEMBERSHIP, place.ports.clock)
            for links in (older, newer, other)
        ]
        for client in clients:
            await client.call(register, 10_000)
        assert place.node_ids == [101, 102]

        await clients[0].close()
        await clients[2].close()

        await until(lambda: 102 not in place.node_ids)
        assert place.node_ids == [101]
        await clients[1].close()
        await until(lambda: place.node_ids == [])

    in_place(tmp_path, scenario, TIMES | {"broker.session.timeout.ms": "50000"})


def test_only_coordinators_register(tmp_path: Path) -> None:
    async def scenario(place: Place) -> None:
        for role, reason in (("broker", NOBODY), ("operator", NOBODY), ("group", "malformed")):
            client = ControllerClient(
                place.links(9, role), place.controllers, Purpose.MEMBERSHIP, place.ports.clock
            )
            for key in (REGISTER, HEARTBEAT):
                with pytest.raises(CallRefused, match=reason):
                    await client.call(Call(key, 0, b"\x01"), 10_000)
            await client.close()

    in_place(tmp_path, scenario)
