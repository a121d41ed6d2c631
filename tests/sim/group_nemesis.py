"""The trouble that coordinators meet beyond that of single machines.

- The broker that leads a shard and the coordinator that computes for it are cut off from each
  other, in one direction or both, for about as long as it takes them to notice.
- A coordinator that has sessions dies, or is stopped.
- The leader of a shard dies, or all brokers but one are cut off: nothing can be written.
- A leader does not hear from the controllers, and goes on leading in vain.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.sim.sim_machine import SimMachine, World
from tests.sim.sim_nemesis import FaultCount, SimNemesis


@dataclass(slots=True)
class GroupFaultCount(FaultCount):
    coordinators_killed: int = 0
    coordinators_stopped: int = 0
    coordinators_cut_off: int = 0
    leaders_killed: int = 0
    leaders_alone: int = 0
    zombies: int = 0


@dataclass(frozen=True, slots=True)
class Cast:
    """Whom it may concern."""

    controllers: list[SimMachine]
    brokers: list[SimMachine]
    coordinators: list[SimMachine]
    find_leader: Callable[[], SimMachine | None]
    """Of some shard."""
    find_coordinator: Callable[[], SimMachine | None]
    """One that has a session."""
    find_pair: Callable[[], tuple[SimMachine, SimMachine] | None]
    """A broker and the coordinator of a shard of it."""

    @property
    def machines(self) -> list[SimMachine]:
        return self.controllers + self.brokers + self.coordinators


class GroupNemesis(SimNemesis):
    def __init__(self, world: World, cast: Cast) -> None:
        super().__init__(world, cast.machines, cast.find_leader)
        self._cast = cast
        self.count: GroupFaultCount = GroupFaultCount()
        self._quiet_until = 0.0
        """Until then a cut takes its course, and no other fault comes between."""
        self._faults += [
            (8, self._kill_coordinator),
            (8, self._stop_coordinator),
            (12, self._cut_off_coordinator),
            (6, self._kill_leader),
            (6, self._leave_leader_alone),
            (5, self._make_zombie),
        ]
        self._total = sum(weight for weight, _ in self._faults)

    def _strike(self) -> None:
        if self._world.loop.now >= self._quiet_until:
            super()._strike()

    def _kill_coordinator(self) -> None:
        machine = self._cast.find_coordinator()
        if machine is not None and machine.is_running:
            self.count.coordinators_killed += 1
            machine.crash(machine=self._rng.random() < 0.3)

    def _stop_coordinator(self) -> None:
        machine = self._cast.find_coordinator()
        if machine is not None and machine.is_running:
            self.count.coordinators_stopped += 1
            machine.stop()
            self._world.later(self._rng.uniform(0.5, 3.6), machine.resume)

    def _cut_off_coordinator(self) -> None:
        pair = self._cast.find_pair()
        if pair is None:
            return
        self.count.coordinators_cut_off += 1
        leader, coordinator = pair
        way = self._rng.randrange(3)
        if way != 0:
            self._world.fabric.set_cut(leader.number, coordinator.number)
        if way != 1:
            self._world.fabric.set_cut(coordinator.number, leader.number)
        cut_s = self._rng.uniform(1.0, 3.8)
        self._quiet_until = self._world.loop.now + cut_s
        self._world.later(cut_s, self._heal)

    def _kill_leader(self) -> None:
        machine = self._cast.find_leader()
        if machine is not None and machine.is_running:
            self.count.leaders_killed += 1
            machine.crash(machine=False)

    def _cut(self, one: SimMachine, other: SimMachine) -> None:
        self._world.fabric.set_cut(one.number, other.number)
        self._world.fabric.set_cut(other.number, one.number)

    def _leave_leader_alone(self) -> None:
        """Its followers fall out of sync: nothing can be written."""
        leader = self._cast.find_leader()
        if leader is None:
            return
        self.count.leaders_alone += 1
        for broker in self._cast.brokers:
            if broker is not leader:
                self._cut(leader, broker)
        self._world.later(self._rng.uniform(1.0, 4.0), self._heal)

    def _make_zombie(self) -> None:
        """Another one leads soon, and this one is not told."""
        leader = self._cast.find_leader()
        if leader is None:
            return
        self.count.zombies += 1
        for controller in self._cast.controllers:
            self._cut(leader, controller)
        self._world.later(self._rng.uniform(1.0, 4.0), self._heal)
