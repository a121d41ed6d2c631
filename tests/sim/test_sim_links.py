"""The product's links over a network that fails in every way it can."""

import asyncio
from dataclasses import dataclass, field
from functools import cache
from random import Random

import pytest

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Call,
    Caller,
    CallRefused,
    LinkError,
    LinkFull,
    Loss,
    NotSent,
    Purpose,
)
from tests.sim.invariant import check
from tests.sim.sim_machine import Boot, SimMachine, World

SERVER = Address("host-1", 9_000)
CONFIG = LinkConfig(call_count_max=6)
FAULTS_S = 20
RECOVERY_S = 8
SEEDS = 20


@dataclass
class Record:
    """What everybody knows in the end."""

    carried_out: dict[bytes, int] = field(default_factory=dict)
    answered: list[bytes] = field(default_factory=list)
    not_done: list[bytes] = field(default_factory=list)
    unknown: list[bytes] = field(default_factory=list)


class Adder:
    def __init__(self, record: Record, machine: SimMachine) -> None:
        self._record = record
        self._machine = machine

    async def on_call(self, _: Caller, call: Call) -> Buffer:
        body = bytes(call.body)
        if self._machine.rng.randrange(10) == 0:
            raise CallRefused("not today")
        self._record.carried_out[body] = self._record.carried_out.get(body, 0) + 1
        if self._machine.rng.randrange(3) == 0:
            await asyncio.sleep(self._machine.rng.randrange(200) / 1000)
        return body[::-1]

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        pass


def serve(record: Record) -> Boot:
    async def boot(machine: SimMachine) -> None:
        links = machine.links("cluster", "controller", CONFIG)
        await links.serve(SERVER, {Purpose.FORWARD: Adder(record, machine)})

    return boot


def call_forever(record: Record) -> Boot:
    async def boot(machine: SimMachine) -> None:
        links = machine.links("cluster", "broker", CONFIG)
        link = links.open(Purpose.FORWARD, SERVER)

        async def one(body: bytes) -> None:
            try:
                answer = await link.call(Call(1, 0, body), 1_500)
            except (NotSent, CallRefused, LinkFull):
                record.not_done.append(body)
            except LinkError:
                record.unknown.append(body)
            else:
                check(bytes(answer) == body[::-1], "the answer to another call:", body)
                record.answered.append(body)

        tasks = []
        while True:
            body = b"%d " % machine.number + machine.rng.randbytes(6)
            tasks.append(asyncio.get_running_loop().create_task(one(body)))
            await asyncio.sleep(machine.rng.randrange(60) / 1000)

    return boot


def strike(world: World, machines: list[SimMachine], rng: Random) -> None:
    fabric = world.fabric
    machine = machines[rng.randrange(len(machines))]
    fault = rng.randrange(9)
    if fault == 0:
        machine.crash(machine=rng.random() < 0.5)
    elif fault == 1:
        machine.stop()
    elif fault == 2:
        fabric.set_cut(1, 2)
        if rng.random() < 0.5:
            fabric.set_cut(2, 1)
    elif fault == 3:
        fabric.stall(machine.number, 3 - machine.number, rng.uniform(0.1, 4))
    elif fault == 4:
        fabric.break_streams(1, 2, with_notice=rng.random() < 0.6)
    else:
        heal(world, machines)


def heal(world: World, machines: list[SimMachine]) -> None:
    world.fabric.heal()
    for machine in machines:
        machine.resume()
        if not machine.is_running:
            machine.start()


@cache
def run_once(seed: int) -> tuple[int, Record]:
    return run(seed)


def run(seed: int) -> tuple[int, Record]:
    world = World(seed)
    record = Record()
    machines = [
        SimMachine(world, 1, serve(record)),
        SimMachine(world, 2, call_forever(record)),
    ]

    async def main() -> None:
        for machine in machines:
            machine.start()
        while world.loop.now < FAULTS_S:
            strike(world, machines, world.rng)
            await asyncio.sleep(world.rng.uniform(0.02, 1))
        heal(world, machines)
        answered = len(record.answered)
        await asyncio.sleep(RECOVERY_S)
        check(len(record.answered) > answered, "no call is answered after the faults")

    try:
        world.loop.run_until_complete(main())
    finally:
        world.loop.close()
    return world.loop.trace, record


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_call_is_carried_out_once_or_not_at_all_and_its_caller_is_not_misled(
    seed: int,
) -> None:
    _, record = run_once(seed)

    assert all(count == 1 for count in record.carried_out.values())
    assert all(body in record.carried_out for body in record.answered)
    assert not any(body in record.carried_out for body in record.not_done)
    assert len(record.answered) > 20


def test_the_faults_leave_calls_of_which_nobody_knows() -> None:
    records = [run_once(seed)[1] for seed in range(SEEDS)]
    unknown = [(record, body) for record in records for body in record.unknown]

    assert any(body in record.carried_out for record, body in unknown)
    assert any(body not in record.carried_out for record, body in unknown)


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(3)[0] == run_once(3)[0]
    assert run_once(3)[0] != run_once(4)[0]
