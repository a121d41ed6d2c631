"""The trouble that whole machines meet: one fault after the other, drawn from the seed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.sim.sim_links import FAST_NETWORK, SLOW_NETWORK
from tests.sim.sim_machine import SimMachine, World
from tests.sim.sim_ports import FAST_DISK, SLOW_DISK

if TYPE_CHECKING:
    from random import Random

DOWN_S = 3.0


@dataclass(slots=True)
class FaultCount:
    process_crashes: int = 0
    machine_crashes: int = 0
    shutdowns: int = 0
    stops: int = 0
    partitions: int = 0
    broken_streams: int = 0
    failed_syncs: int = 0


class SimNemesis:
    def __init__(
        self, world: World, machines: list[SimMachine], find_active: Callable[[], SimMachine | None]
    ) -> None:
        self._world = world
        self._machines = machines
        self._find_active = find_active
        self._rng: Random = world.rng
        self.is_on = True
        self.count = FaultCount()
        self._faults: list[tuple[int, Callable[[], None]]] = [
            (6, self._crash_active),
            (4, self._crash_any),
            (5, self._crash_in_an_operation),
            (4, self._shut_down),
            (8, self._restart_any),
            (4, self._stop_active),
            (2, self._stop_any),
            (8, self._resume_all),
            (5, self._isolate_active),
            (4, self._split),
            (3, self._cut_one_way),
            (10, self._heal),
            (6, self._break_streams),
            (4, self._stall),
            (4, self._slow_disk),
            (4, self._fast_disks),
            (2, self._fail_sync),
            (2, self._skew),
            (2, self._slow_network),
        ]
        self._total = sum(weight for weight, _ in self._faults)

    async def run(self, until: float) -> None:
        while self._world.loop.now < until:
            await asyncio.sleep(self._rng.uniform(0.02, 0.5))
            self._strike()
        self.stop()

    def _strike(self) -> None:
        draw = self._rng.randrange(self._total)
        for number, (weight, fault) in enumerate(self._faults):
            draw -= weight
            if draw < 0:
                self._world.loop.note(number)
                self._world.say("nemesis:", fault.__name__)
                fault()
                return

    def stop(self) -> None:
        """Everything works again: now the cluster has to."""
        self.is_on = False
        self._world.say("nemesis: is done")
        self._heal()
        self._fast_disks()
        for machine in self._machines:
            machine.set_rate(1.0)
            machine.set_tightness(1)
            machine.disk.forget_faults()
            machine.resume()
            if not machine.is_running:
                machine.start()

    # --- whom it hits

    def _any(self) -> SimMachine:
        return self._machines[self._rng.randrange(len(self._machines))]

    def _active(self) -> SimMachine:
        return self._find_active() or self._any()

    def _pair(self) -> tuple[int, int]:
        numbers = self._world.fabric.machine_numbers
        one = numbers.pop(self._rng.randrange(len(numbers)))
        return one, numbers[self._rng.randrange(len(numbers))]

    # --- processes and machines

    def _crash(self, machine: SimMachine) -> None:
        if machine.is_running and machine.may_crash():
            machine.crash(machine=self._rng.random() < 0.5)

    def on_down(self, machine: SimMachine, *, is_machine: bool) -> None:
        """Whatever took it down, it comes back."""
        if is_machine:
            self.count.machine_crashes += 1
        else:
            self.count.process_crashes += 1
        self._world.later(self._rng.uniform(0.001, DOWN_S), lambda: self._restart(machine))

    def _restart(self, machine: SimMachine) -> None:
        if not machine.is_running:
            machine.start()

    def _crash_active(self) -> None:
        self._crash(self._active())

    def _crash_any(self) -> None:
        self._crash(self._any())

    def _crash_in_an_operation(self) -> None:
        machine = self._active() if self._rng.random() < 0.5 else self._any()
        if machine.is_running and machine.may_crash():
            machine.disk.crash_after(1 + self._rng.randrange(40))

    def _shut_down(self) -> None:
        machine = self._active() if self._rng.random() < 0.5 else self._any()
        if machine.is_running and machine.terminate is not None:
            self.count.shutdowns += 1
            machine.process.run(machine.terminate)

    def _restart_any(self) -> None:
        self._restart(self._any())

    def _stop_active(self) -> None:
        self._stop(self._active())

    def _stop_any(self) -> None:
        self._stop(self._any())

    def _stop(self, machine: SimMachine) -> None:
        if machine.is_running:
            self.count.stops += 1
            machine.stop()
            self._world.later(self._rng.uniform(0.01, 5.0), machine.resume)

    def _resume_all(self) -> None:
        for machine in self._machines:
            machine.resume()

    def _skew(self) -> None:
        machine = self._any()
        machine.set_rate(self._rng.uniform(0.8, 1.25))
        machine.set_skew(self._rng.randrange(-5_000, 5_000))

    # --- disks

    def _slow_disk(self) -> None:
        self._any().set_disk_delay(SLOW_DISK)

    def _fast_disks(self) -> None:
        for machine in self._machines:
            machine.set_disk_delay(FAST_DISK)

    def _fail_sync(self) -> None:
        machine = self._any()
        if machine.is_running and machine.may_crash():
            self.count.failed_syncs += 1
            machine.disk.fail_sync_after(self._rng.randrange(6))

    # --- the network

    def _separate(self, inside: list[int]) -> None:
        fabric = self._world.fabric
        self.count.partitions += 1
        one_way = self._rng.random() < 0.3
        for one in inside:
            for other in fabric.machine_numbers:
                if other not in inside:
                    fabric.set_cut(one, other)
                    if not one_way:
                        fabric.set_cut(other, one)

    def _isolate_active(self) -> None:
        self._separate([self._active().number])

    def _split(self) -> None:
        numbers = self._world.fabric.machine_numbers
        self._rng.shuffle(numbers)
        self._separate(numbers[: self._rng.randrange(1, len(numbers))])

    def _cut_one_way(self) -> None:
        self._world.fabric.set_cut(*self._pair())

    def _heal(self) -> None:
        self._world.fabric.heal()
        self._world.fabric.delay_s = FAST_NETWORK

    def _slow_network(self) -> None:
        self._world.fabric.delay_s = SLOW_NETWORK

    def _break_streams(self) -> None:
        self.count.broken_streams += 1
        self._world.fabric.break_streams(*self._pair(), with_notice=self._rng.random() < 0.6)

    def _stall(self) -> None:
        self._world.fabric.stall(*self._pair(), self._rng.uniform(0.05, 4.0))
