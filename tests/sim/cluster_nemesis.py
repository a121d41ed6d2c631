"""The trouble that a cluster meets beyond that of single machines, at the moments that hurt most.

- A leader is cut off from its followers alone, until the ISR is below the minimum, and then dies.
- A leader commits with one follower, the other being out of sync, and dies before that one hears;
  or all brokers die then.
- A replica has just joined the ISR: its leader hears of nothing any more, neither from the
  controllers nor from the replica.
- A broker has lost what it had not synced, and comes back when all others are fenced, or about to.
- A partition has just got a leader: it dies in its first steps.
- All controllers are gone for some seconds: brokers must go on serving what they lead.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.sim.cluster_eye import REPLICA_COUNT, ClusterEye
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine, World
from tests.sim.sim_nemesis import FaultCount, SimNemesis

BLACKOUT_S = 4.0
FENCED_S = 1.8
"""After it a broker is fenced that the controllers do not hear of."""
JOINING = 0.3
LOST = 0.5
ELECTED = 0.12
"""How often such a moment is used."""


@dataclass(slots=True)
class ClusterFaultCount(FaultCount):
    lonely_leaders: int = 0
    hushed_leaders: int = 0
    all_brokers_down: int = 0
    data_losses: int = 0
    """Brokers of which the machine crashed, while that was fair."""
    tempted: int = 0
    cut_at_joining: int = 0
    died_when_elected: int = 0
    blackouts: int = 0
    """All controllers down, with brokers that were all well."""


class ClusterNemesis(SimNemesis):
    def __init__(
        self,
        world: World,
        controllers: list[SimMachine],
        brokers: list[SimMachine],
        find_victim: Callable[[], SimMachine | None],
        eye: ClusterEye,
    ) -> None:
        super().__init__(world, controllers + brokers, find_victim)
        self._controllers = controllers
        self._brokers = brokers
        self._eye = eye
        self.count: ClusterFaultCount = ClusterFaultCount()
        self._dark_until = 0.0
        self._held: dict[SimMachine, float] = {}
        """Brokers that stay down until then."""
        self._quiet_until = 0.0
        """Until then a fault takes its course, and no other comes between."""
        self._faults += [
            (5, self._leave_leader_alone),
            (6, self._black_out),
            (5, self._fail_directory),
            (4, self._hush_leader),
            (8, self._lose_data),
        ]
        self._total = sum(weight for weight, _ in self._faults)

    @property
    def _is_dark(self) -> bool:
        return self._world.loop.now < self._dark_until

    @property
    def _is_quiet(self) -> bool:
        return self._world.loop.now < max(self._quiet_until, self._dark_until)

    def _strike(self) -> None:
        if not self._is_quiet:
            super()._strike()

    def on_down(self, machine: SimMachine, *, is_machine: bool) -> None:
        if is_machine and machine in self._brokers and self._may_tempt():
            self._tempt(machine)
        super().on_down(machine, is_machine=is_machine)
        if is_machine and self._rng.random() < 0.6:
            # Back before anybody has missed it, without what it had not synced.
            self._world.later(self._rng.uniform(0.01, 0.3), lambda: self._restart(machine))

    def _restart(self, machine: SimMachine) -> None:
        now = self._world.loop.now
        until = self._dark_until if machine in self._controllers else self._held.get(machine, 0.0)
        if now < until:
            self._world.later(until - now, lambda: self._restart(machine))
        else:
            super()._restart(machine)

    # --- a broker without its data

    def _lose_data(self) -> None:
        machine = self._brokers[self._rng.randrange(len(self._brokers))]
        if machine.is_running and machine.may_lose_data():
            self.count.data_losses += 1
            machine.crash(machine=True)

    def _may_tempt(self) -> bool:
        return self.is_on and not self._is_quiet and self._rng.random() < LOST

    def _tempt(self, lost: SimMachine) -> None:
        """Nobody else is left: if it were believed to have all it had, it would lead."""
        others = self._eye.find_peers(lost)
        if len(others) != REPLICA_COUNT - 1:
            return
        self.count.tempted += 1
        self._heal()
        self._resume_all()
        now = self._world.loop.now
        self._held[lost] = now + FENCED_S
        self._quiet_until = now + 3 * FENCED_S
        for other in others:
            self._cut(lost, other)  # it shall not catch up meanwhile
        self._cut_from_controllers(others[0])
        self._world.later(FENCED_S + 0.5, lambda: self._cut_from_controllers(others[1]))
        self._world.later(3 * FENCED_S, self._heal)

    def _cut_from_controllers(self, machine: SimMachine) -> None:
        if self.is_on:
            for controller in self._controllers:
                self._cut(machine, controller)

    # --- leaders

    def _cut(self, one: SimMachine, other: SimMachine) -> None:
        self._world.fabric.set_cut(one.number, other.number)
        self._world.fabric.set_cut(other.number, one.number)

    def _leave_leader_alone(self) -> None:
        leader = self._eye.find_leader()
        if leader is None:
            return
        self.count.lonely_leaders += 1
        for broker in self._brokers:
            if broker is not leader:
                self._cut(leader, broker)
        self._world.later(self._rng.uniform(0.5, 2.5), lambda: self._end_loneliness(leader))

    def _end_loneliness(self, leader: SimMachine) -> None:
        if self.is_on and not self._is_dark:
            self._crash_process(leader)
            self._heal()

    def _hush_leader(self) -> None:
        leader = self._eye.find_leader()
        if leader is None:
            return
        self.count.hushed_leaders += 1
        others = [broker for broker in self._brokers if broker is not leader]
        self._heal()
        self._cut(leader, others[self._rng.randrange(len(others))])
        behind_s, hushed_s = self._rng.uniform(0.7, 2.0), self._rng.uniform(0.02, 0.3)
        self._quiet_until = self._world.loop.now + behind_s + hushed_s
        self._world.later(behind_s, lambda: self._hush(leader, others))
        victims = self._brokers if self._rng.random() < 0.5 else [leader]
        self._world.later(behind_s + hushed_s, lambda: self._end_hush(victims))

    def _end_hush(self, victims: list[SimMachine]) -> None:
        if self.is_on:
            self.count.all_brokers_down += len(victims) > 1
            for broker in victims:
                self._crash_process(broker)
            self._heal()

    def _hush(self, leader: SimMachine, others: list[SimMachine]) -> None:
        if self.is_on:
            for broker in others:
                self._world.fabric.set_cut(leader.number, broker.number)

    def _crash_process(self, machine: SimMachine) -> None:
        if machine.is_running and machine.may_crash():
            machine.crash(machine=False)

    def on_joined(self, leader: SimMachine, joined: list[SimMachine]) -> None:
        """Replicas are in the ISR now, of which the leader knows only that it has asked."""
        if not self.is_on or self._is_quiet or self._rng.random() > JOINING:
            return
        self.count.cut_at_joining += 1
        self._heal()
        for machine in [*self._controllers, *joined]:
            self._cut(leader, machine)
        cut_s = self._rng.uniform(1.5, 3.0)
        self._quiet_until = self._world.loop.now + cut_s
        self._world.later(cut_s, self._heal)

    def on_elected(self, leader: SimMachine) -> None:
        if not self.is_on or self._is_quiet or self._rng.random() > ELECTED:
            return
        self.count.died_when_elected += 1
        self._world.later(self._rng.uniform(0.0, 0.3), lambda: self._end_reign(leader))

    def _end_reign(self, leader: SimMachine) -> None:
        if self.is_on and not self._is_dark:
            self._crash_process(leader)

    def _fail_directory(self) -> None:
        """Of a broker that may have another."""
        machine = self._brokers[self._rng.randrange(len(self._brokers))]
        if machine.is_running and machine.may_crash():
            self.count.failed_syncs += 1
            machine.disk.fail_sync_after(self._rng.randrange(6))

    # --- all controllers

    def _black_out(self) -> None:
        if not self._eye.is_healthy():
            return
        self._heal()
        self._resume_all()
        self._fast_disks()
        for machine in self._brokers:
            machine.disk.forget_faults()
        self.count.blackouts += 1
        self._dark_until = self._world.loop.now + BLACKOUT_S
        for machine in self._controllers:
            machine.crash(machine=False)
        before = self._eye.acknowledged_count
        self._world.later(BLACKOUT_S - 0.001, lambda: self._end_blackout(before))

    def _end_blackout(self, acknowledged_count: int) -> None:
        check(
            self._eye.acknowledged_count > acknowledged_count,
            "nothing was acknowledged while all controllers were down",
        )
