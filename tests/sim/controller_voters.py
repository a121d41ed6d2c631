"""An administrator of the quorum itself: adds and removes voters while everything else happens."""

import asyncio
from collections.abc import Callable

from barnabas_core.ports.link import Origin
from barnabas_core.raft import VoterSet
from barnabas_core.raft.identity import Endpoint
from barnabas_core.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from barnabas_core.wire.messages.add_raft_voter_request import Listener as VoterListener
from barnabas_core.wire.messages.add_raft_voter_response import AddRaftVoterResponse
from barnabas_core.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from barnabas_core.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from tests.sim.controller_clients import Asker, NotDone, Scene, Unknown, forwarding_client
from tests.sim.controller_node import CONTROLLER_PORT, ControllerNode
from tests.sim.sim_machine import SimMachine

CHANGE_TIMEOUT_MS = 2_000


class VoterAdministrator:
    def __init__(
        self,
        machine: SimMachine,
        scene: Scene,
        nodes: list[ControllerNode],
        find_voters: Callable[[], VoterSet | None],
    ) -> None:
        self._machine = machine
        self._nodes = nodes
        self._find_voters = find_voters
        client = forwarding_client(machine, scene)
        self._asker = Asker(client, Origin("User:admin", "host", "sim"), scene.ledger)
        self._cluster_id = scene.cluster_id
        self._ledger = scene.ledger
        self.is_on = True

    async def run(self) -> None:
        rng = self._machine.rng
        while True:
            await asyncio.sleep(rng.randrange(200, 2_000) / 1000)
            voters = self._find_voters()
            if voters is None or not self.is_on:
                continue
            node = self._nodes[rng.randrange(len(self._nodes))]
            try:
                if voters.get(node.key.node_id) is None:
                    await self._add(node)
                elif len(voters) > 1 + rng.randrange(3):
                    await self._remove(node)
            except (NotDone, Unknown):
                pass

    async def _add(self, node: ControllerNode) -> None:
        request = AddRaftVoterRequest(
            cluster_id=self._cluster_id,
            timeout_ms=CHANGE_TIMEOUT_MS,
            voter_id=node.key.node_id,
            voter_directory_id=node.key.directory_id,
            listeners=[VoterListener(*endpoint) for endpoint in _endpoints(node)],
        )
        answer = await self._asker.ask(request, AddRaftVoterResponse)
        self._asker.check_code(answer.error_code)
        self._ledger.count.voter_changes += 1

    async def _remove(self, node: ControllerNode) -> None:
        request = RemoveRaftVoterRequest(
            cluster_id=self._cluster_id,
            voter_id=node.key.node_id,
            voter_directory_id=node.key.directory_id,
        )
        answer = await self._asker.ask(request, RemoveRaftVoterResponse)
        self._asker.check_code(answer.error_code)
        self._ledger.count.voter_changes += 1


def _endpoints(node: ControllerNode) -> tuple[Endpoint, ...]:
    return (Endpoint("CONTROLLER", node.machine.host, CONTROLLER_PORT),)
