"""The operator's plans for voters, carried out on controllers that are processes, over gRPC."""

import asyncio
from contextlib import suppress
from pathlib import Path

from barnabas_core.links.cluster_health import ClusterHealthClient
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.ports.link import Address, Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.health.cluster_port import Unavailable
from barnabas_operator.health.gateway import Gateway
from barnabas_operator.health.topic_admin import TopicAdmin
from barnabas_operator.plan.observed import QuorumState
from barnabas_operator.plan.voters import plan_voters
from tests.support.controller_process import CLUSTER_ID, HOST, Quorum, controllers

DEADLINE_S = 120


def gateway_of(quorum: Quorum) -> Gateway:
    clock, log = SystemClock(), EventLog(level="error")
    links = GrpcLinks(Identity(CLUSTER_ID, -1, "operator"), clock, log)
    return Gateway(
        ClusterHealthClient(links, quorum.links, clock),
        CLUSTER_ID,
        lambda node_id: quorum[node_id].links,
        lambda node_id: (("CONTROLLER", Address(HOST, quorum[node_id].port)),),
        TopicAdmin(lambda: ""),
    )


async def settle(gateway: Gateway, quorum_: Quorum, wanted: frozenset[int]) -> QuorumState:
    """Rounds, as the operator does them: one step each, and again when nobody answered."""
    directories = {(one, quorum_[one].directory_id) for one in wanted}
    known = frozenset(range(1, 6))
    while True:
        try:
            quorum = (await gateway.view()).quorum
            made = plan_voters(wanted, known, quorum)
            if made.action is not None:
                await gateway.carry_out(made.action)
            elif {(one.node_id, one.directory_id) for one in quorum.voters} == directories:
                return quorum
        except Unavailable:
            pass
        await asyncio.sleep(0.2)


def run(quorum: Quorum, wanted: set[int]) -> QuorumState:
    async def go() -> QuorumState:
        gateway = gateway_of(quorum)
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await settle(gateway, quorum, frozenset(wanted))
        finally:
            await gateway.close()

    return asyncio.run(go())


def test_a_quorum_follows_its_resource_from_one_to_three_and_back(tmp_path: Path) -> None:
    with controllers(tmp_path, 1) as quorum:
        quorum.wait_active()
        quorum.add_observer(2)
        quorum.add_observer(3)

        grown = run(quorum, {1, 2, 3})
        assert sorted(one.node_id for one in grown.voters) == [1, 2, 3]

        shrunk = run(quorum, {1})
        assert [one.node_id for one in shrunk.voters] == [1]


def test_the_first_controller_may_go_once_there_are_others(tmp_path: Path) -> None:
    """As long as the operator keeps its links open: it began with this one alone."""

    async def asked_before_and_after(quorum: Quorum) -> QuorumState:
        gateway = gateway_of(quorum)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await gateway.view()
                quorum.add_observer(2)
                quorum.add_observer(3)
                await settle(gateway, quorum, frozenset({1, 2, 3}))
                gateway.know(quorum.links)
                quorum[1].kill()
                while True:
                    with suppress(Unavailable):
                        return (await gateway.view()).quorum
        finally:
            await gateway.close()

    with controllers(tmp_path, 1) as quorum:
        quorum.wait_active()

        found = asyncio.run(asked_before_and_after(quorum))

    assert found.leader_id in {2, 3}


def test_a_controller_that_lost_its_disk_is_replaced(tmp_path: Path) -> None:
    with controllers(tmp_path, 3) as quorum:
        active = quorum.wait_active()
        lost = quorum[active % 3 + 1]
        lost.kill()
        lost.lose_disk()
        quorum.add_observer(lost.id)

        mended = run(quorum, {1, 2, 3})

        assert all(one.is_caught_up for one in mended.voters)
