"""The links of a combined node: two roles at one address, and nothing on the wire between them."""

import asyncio

import pytest

from barnabas_core.links.grpc_links import GrpcNetwork
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.node_network import NodeNetwork
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.link import Address, Call, Identity, LinkError, LinkServer, Loss, Purpose
from barnabas_core.runtime.clock import SystemClock
from tests.support.link_lab import LOCALHOST, Lab, Servant, Witness, echo, in_lab, until, wait

TIMEOUT_MS = 10_000


class Node:
    """Two roles: FORWARD is the controller's, REPLICA the broker's."""

    def __init__(self, lab: Lab, *, alone: bool = False) -> None:
        outer = None if alone else GrpcNetwork(LinkConfig(), None)
        self._lab = lab
        self._network = NodeNetwork(LocalNetwork(lab.log), outer, ["localhost"])
        self.controller, self.broker = Servant(), Servant()

    def links(self, role: str) -> StreamLinks:
        identity = Identity("cluster", 1, role)
        return StreamLinks(self._network, identity, SystemClock(), self._lab.log)

    async def start_controller(self) -> LinkServer:
        links = self.links("controller")
        return await self._lab.serve(self.controller, links=links, purpose=Purpose.FORWARD)

    async def start_broker(self) -> LinkServer:
        links = self.links("broker")
        return await links.serve(LOCALHOST, {Purpose.REPLICA: self.broker})


def test_both_roles_are_reached_at_one_address() -> None:
    async def scenario(lab: Lab) -> None:
        node = Node(lab)
        controller = await node.start_controller()
        broker = await node.start_broker()
        assert controller.address == broker.address
        forward = lab.open(controller.address, purpose=Purpose.FORWARD)
        replica = lab.open(controller.address, purpose=Purpose.REPLICA)

        assert bytes(await forward.call(echo(b"one"), TIMEOUT_MS)) == b"one"
        assert bytes(await replica.call(echo(b"two"), TIMEOUT_MS)) == b"two"

        assert (len(node.controller.calls), len(node.broker.calls)) == (1, 1)
        await broker.close()

    in_lab("grpc", scenario)


@pytest.mark.parametrize("alone", [True, False])
def test_a_role_reaches_the_other_by_any_name_of_the_node(*, alone: bool) -> None:
    async def scenario(lab: Lab) -> None:
        node = Node(lab, alone=alone)
        address = (await node.start_controller()).address
        for host in (address.host, "localhost"):
            link = lab.open(address._replace(host=host), links=node.links("broker"))
            assert bytes(await link.call(echo(b"body"), TIMEOUT_MS)) == b"body"

        assert {caller.identity.role for caller in node.controller.callers} == {"broker"}

    in_lab("grpc", scenario)


def test_a_node_that_is_alone_listens_to_nobody_and_calls_only_itself() -> None:
    async def scenario(lab: Lab) -> None:
        node = Node(lab, alone=True)
        await node.start_controller()
        link = lab.open(Address("elsewhere", 9), links=node.links("broker"))

        assert bytes(await link.call(echo(b"body"), TIMEOUT_MS)) == b"body"

    in_lab("grpc", scenario)


def test_a_role_that_stops_ends_its_streams_and_leaves_the_others() -> None:
    async def scenario(lab: Lab) -> None:
        node = Node(lab)
        address = (await node.start_controller()).address
        broker = await node.start_broker()
        witness = Witness()
        forward = lab.open(address, purpose=Purpose.FORWARD)
        replica = lab.open(address, witness.events(), purpose=Purpose.REPLICA)
        await forward.call(echo(), TIMEOUT_MS)
        waiting = asyncio.ensure_future(replica.call(wait(), TIMEOUT_MS))
        await until(lambda: len(node.broker.calls) == 1)

        await broker.close()

        with pytest.raises(LinkError):
            await waiting
        assert witness.losses == [Loss.CLOSED]
        assert bytes(await forward.call(echo(b"still"), TIMEOUT_MS)) == b"still"

    in_lab("grpc", scenario)


def test_a_role_that_has_not_started_is_called_again_later() -> None:
    async def scenario(lab: Lab) -> None:
        node = Node(lab)
        address = (await node.start_controller()).address
        replica = lab.open(address, purpose=Purpose.REPLICA)
        with pytest.raises(LinkError):
            await replica.call(Call(0, 0, b"early"), 1_000)

        broker = await node.start_broker()

        async def is_answered() -> bool:
            try:
                return bytes(await replica.call(echo(b"late"), 1_000)) == b"late"
            except LinkError:
                return False

        while not await is_answered():  # noqa: ASYNC110 - what is waited for knows nothing of it
            await asyncio.sleep(0.01)
        await broker.close()

    in_lab("grpc", scenario)
