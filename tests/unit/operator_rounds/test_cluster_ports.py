"""The operator's links to clusters that grow, go, and come again under their names."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

from barnabas_core.ports.link import Address, NotSent
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng
from barnabas_operator import ports as operator_ports
from barnabas_operator.health.cluster_port import Unavailable
from barnabas_operator.health.gateway import Gateway
from barnabas_operator.kube.client import Kube
from barnabas_operator.ports import ClusterPorts
from barnabas_operator.service import OperatorService
from barnabas_operator.specs.blueprint import Blueprint, Images
from tests.support.blueprints import LARGE, blueprint_of

DEADLINE_S = 30


class NobodyThere:
    """Links on which nobody answers; whom they were opened to is noted."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def open(self, _: Any, address: Address, *__: Any) -> "SilentLink":
        self.asked.add(address.host.split(".")[0])
        return SilentLink(address)


class SilentLink:
    def __init__(self, address: Address) -> None:
        self.address = address

    async def call(self, *_: Any) -> bytes:
        raise NotSent("nobody is there")

    async def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> NobodyThere:
    made = NobodyThere()
    monkeypatch.setattr(operator_ports, "GrpcLinks", lambda *_: made)
    return made


def run(scenario: Callable[[ClusterPorts], Awaitable[None]]) -> None:
    async def go() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await scenario(ClusterPorts(SystemClock(), EventLog(level="error", stream=StringIO())))

    asyncio.run(go())


def cluster(controllers: int, **more: Any) -> Blueprint:
    spec = {**LARGE, "controllers": {**LARGE["controllers"], "replicas": controllers}}
    return blueprint_of(spec, **more)


async def is_closed(gateway: Gateway) -> bool:
    with pytest.raises(Unavailable) as raised:
        await gateway.view()
    return "closed" in str(raised.value)


def test_controllers_that_came_later_are_asked_as_well(links: NobodyThere) -> None:
    """Or nobody would be left to ask when the first one is away."""
    first = cluster(1)
    grown = cluster(3, initial_controllers=first.initial_controllers)
    names = {f"demo-controllers-{first.initial_controllers[0] + one}" for one in range(3)}

    async def scenario(ports: ClusterPorts) -> None:
        gateway = ports.of(first)
        assert ports.of(grown) is gateway

        asking = asyncio.create_task(gateway.view())
        while links.asked != names:  # noqa: ASYNC110 - there is a deadline
            await asyncio.sleep(0.01)
        asking.cancel()

    run(scenario)


def test_links_go_with_their_cluster(links: NobodyThere) -> None:
    async def scenario(ports: ClusterPorts) -> None:
        one, other = cluster(1), cluster(1, name="other")
        gateway, others = ports.of(one), ports.of(other)

        await ports.close(one.namespace, one.name)

        assert await is_closed(gateway)
        assert ports.of(other) is others
        assert ports.of(one) is not gateway

    run(scenario)


def test_the_round_that_misses_a_cluster_closes_its_links(links: NobodyThere) -> None:
    class Empty(Kube):
        async def get(self, path: str) -> None:
            return None

    async def scenario(ports: ClusterPorts) -> None:
        one = cluster(1)
        gateway = ports.of(one)
        world = SystemClock(), SystemRng(), EventLog(level="error", stream=StringIO())
        service = OperatorService(Empty(ApiClient(Configuration())), ports, Images(), world)

        service.on_cluster(one.namespace, one.name)
        while service.clusters.keys:  # noqa: ASYNC110 - there is a deadline
            await asyncio.sleep(0.01)

        assert await is_closed(gateway)

    run(scenario)


def test_a_cluster_that_was_made_anew_has_links_of_its_own(links: NobodyThere) -> None:
    async def scenario(ports: ClusterPorts) -> None:
        one = cluster(1)
        gateway = ports.of(one)

        again = ports.of(replace(one, uid="another"))

        assert again is not gateway
        await ports.close(one.namespace, one.name)
        assert await is_closed(gateway)
        assert await is_closed(again)

    run(scenario)
