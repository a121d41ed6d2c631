"""Many members do anything at any time, and the coordinator dies now and then.

Never: a call that is answered twice (the lab looks), a generation that goes back while the
coordinator lives or below what was written, a group that its records do not bring back. After a
quiet time all who are alive are in one generation.
"""

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from tests.support.classic_lab import (
    ClassicLab,
    Protocols,
    join_of,
    leaving,
    sync_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

RANGE = ("range", b"r")
STICKY = ("sticky", b"s")
CHOICES: list[Protocols] = [(RANGE,), (RANGE, STICKY), (STICKY, RANGE), (("range", b"other"),)]
MUST_REJOIN = {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
}
IS_NOBODY = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}


@dataclass
class Client:
    """As well-behaved as it is alive."""

    lab: ClassicLab
    instance_id: str | None
    protocols: Protocols
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    share: bytes | None = None
    """None: must sync, or join first."""
    joining: int | None = None
    syncing: int | None = None

    def step(self) -> None:
        """Whatever is next for it."""
        if self.joining is not None:
            self._hear_join(self.joining)
        elif self.syncing is not None:
            self._hear_sync(self.syncing)
        elif self.generation < 0:
            self.join()
        elif self.share is None:
            self._sync({})
        else:
            self._beat()

    def join(self) -> None:
        request = join_of(self.member_id, self.protocols, instance_id=self.instance_id)
        self.joining, self.syncing = self.lab.join(request), None

    def _hear_join(self, call: int) -> None:
        if self.lab.is_waiting(call):
            return
        self.joining = None
        answer = self.lab.joined(call)
        if answer.error_code == ErrorCode.NONE:
            self._take(answer)
        elif answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        else:
            self._begin_anew()

    def _take(self, answer: JoinGroupResponse) -> None:
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.protocol, self.share = answer.protocol_name or "", None
        if answer.leader == self.member_id and not answer.skip_assignment:
            ids = [one.member_id for one in answer.members]
            self._sync({one: f"{answer.generation_id}:{one}".encode() for one in ids})
        else:
            self._sync({})

    def _sync(self, shares: dict[str, bytes]) -> None:
        request = sync_of(
            self.member_id,
            self.generation,
            shares,
            instance_id=self.instance_id,
            protocol=self.protocol,
        )
        self.syncing = self.lab.sync(request)

    def _hear_sync(self, call: int) -> None:
        if self.lab.is_waiting(call):
            self._react(self.lab.heartbeat(self.member_id, self.generation, self.instance_id))
            return
        self.syncing = None
        answer = self.lab.synced(call)
        self._react(ErrorCode(answer.error_code))
        if answer.error_code == ErrorCode.NONE:
            self.share = answer.assignment

    def _beat(self) -> None:
        self._react(self.lab.heartbeat(self.member_id, self.generation, self.instance_id))

    def _react(self, error: ErrorCode) -> None:
        if error in MUST_REJOIN:
            self.generation, self.share = -1, None
            self.join()
        elif error in IS_NOBODY:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self.member_id, self.generation, self.share = "", -1, None
        self.joining = self.syncing = None

    def connection_lost(self) -> None:
        """What it waits for is lost with it: it asks again."""
        lost = self.joining or self.syncing
        if lost is not None:
            self.lab.shard.machine.on_call_lost(lost)
            self.joining = self.syncing = None
            self.generation, self.share = -1, None


@dataclass
class Walk:
    seed: int
    random: Random = field(init=False)
    lab: ClassicLab = field(init=False)
    clients: list[Client] = field(default_factory=list)
    generation: int = 0
    instances: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.lab = ClassicLab(self.seed)

    def step(self) -> None:
        actions: list[Callable[[], None]] = [self.one_goes_on] * 60
        actions += [self.time_passes] * 12
        actions += [self.one_comes] * 3 + [self.one_dies, self.one_leaves, self.one_restarts]
        actions += [self.one_changes, self.connection_lost, self.coordinator_dies]
        self.random.choice(actions)()
        self.check()

    def check(self) -> None:
        self.lab.shard.check_replay()
        if not self.lab.shard.machine.state.groups:
            return
        group = self.lab.group
        assert group.generation >= self.generation
        self.generation = group.generation
        assert group.awaiting_join_count == sum(
            one.join is not None for one in group.members.values()
        )
        assert group.leader_id is None or group.leader_id in group.members
        assert set(group.static_members.values()) <= set(group.members)
        assert set(group.pending_syncs) <= set(group.members)
        if group.state_name in {"Stable", "Empty"} and group.generation:
            self.check_settled()

    def check_settled(self) -> None:
        """What is in memory is what would be loaded."""
        live, loaded = self.lab.group, self.lab.shard.loaded().state.groups["orders"]
        assert isinstance(loaded, type(live))
        assert (loaded.state, loaded.generation) == (live.state, live.generation)
        assert (loaded.leader_id, loaded.protocol_name) == (live.leader_id, live.protocol_name)
        assert [(one.member_id, one.assignment) for one in loaded.members.values()] == [
            (one.member_id, one.assignment) for one in live.members.values()
        ]

    # --- what happens

    def one(self) -> Client | None:
        return self.random.choice(self.clients) if self.clients else None

    def one_goes_on(self) -> None:
        if client := self.one():
            client.step()

    def time_passes(self) -> None:
        self.lab.shard.pass_time(self.random.choice([1, 100, 500, 1_000, 3_000, 11_000]))

    def one_comes(self) -> None:
        if len(self.clients) < 6:
            instance_id = None
            if self.random.random() < 0.4:
                self.instances += 1
                instance_id = f"i{self.instances}"
            protocols = self.random.choice(CHOICES)
            self.clients.append(Client(self.lab, instance_id, protocols))

    def one_dies(self) -> None:
        if client := self.one():
            self.clients.remove(client)

    def one_leaves(self) -> None:
        client = self.one()
        if client is not None and client.member_id:
            self.lab.leave(leaving(client.member_id, client.instance_id))
            self.clients.remove(client)

    def one_restarts(self) -> None:
        """The process is another one: a static member comes back under its name."""
        if client := self.one():
            self.clients.remove(client)
            self.clients.append(Client(self.lab, client.instance_id, client.protocols))

    def one_changes(self) -> None:
        if client := self.one():
            client.protocols = self.random.choice(CHOICES)
            if client.generation >= 0 and client.joining is None:
                client.join()

    def connection_lost(self) -> None:
        if client := self.one():
            client.connection_lost()

    def coordinator_dies(self) -> None:
        self.lab.shard.reload()
        groups = self.lab.shard.machine.state.groups
        self.generation = self.lab.group.generation if groups else 0
        for client in self.clients:
            client.connection_lost()

    def settle(self) -> None:
        """Nothing more happens, for longer than any deadline."""
        for _ in range(150):
            for client in self.clients:
                client.step()
            self.lab.shard.pass_time(1_000)
            self.check()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_the_group_settles_once_it_is_quiet(seed: int) -> None:
    walk = Walk(seed)
    print(f"seed {seed}")

    for _ in range(400):
        walk.step()
    walk.settle()

    if walk.clients:
        generation = walk.lab.group.generation
        assert {client.generation for client in walk.clients} == {generation}
        assert walk.lab.group.state_name == "Stable"
        assert set(walk.lab.group.members) == {client.member_id for client in walk.clients}
        shares = [client.share for client in walk.clients]
        assert None not in shares
    else:
        assert not walk.lab.shard.machine.state.groups or walk.lab.group.is_empty
