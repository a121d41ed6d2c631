"""Simulated machines: each has a disk, a place in the network, and one process at a time."""

from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.link import Identity
from tests.sim.sim_disk import SimDisk
from tests.sim.sim_links import Fabric
from tests.sim.sim_ports import FAST_DISK, SimClock, SimExecutor, SimLog, SimRng
from tests.sim.virtual_loop import Process, VirtualLoop
from tests.support.fake_disk import Crash

if TYPE_CHECKING:
    import asyncio

Boot = Callable[["SimMachine"], Coroutine[Any, Any, None]]


class OnDown(Protocol):
    def __call__(self, machine: "SimMachine", *, is_machine: bool) -> None: ...


def _nobody_minds(machine: "SimMachine", *, is_machine: bool) -> None:
    pass


class World:
    """What one seed makes: the loop, chance for everything that is not the product's, the wires."""

    def __init__(self, seed: int, *, is_loud: bool = False) -> None:
        self.loop = VirtualLoop()
        self.rng = Random(seed)
        self.fabric = Fabric(self.loop, Random(self.rng.getrandbits(32)))
        self.is_loud = is_loud

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        """As the world outside, whoever asks."""
        self.loop.call_at(self.loop.now + delay_s, call, context=Context())

    def say(self, *what: object) -> None:
        if self.is_loud:
            print(f"{self.loop.now:9.4f} {' '.join(str(part) for part in what)}")


class SimMachine:
    def __init__(self, world: World, number: int, boot: Boot) -> None:
        self.world = world
        self.number = number
        self.host = f"host-{number}"
        self.disk = SimDisk(world.rng.getrandbits(32))
        self.chance = Random(world.rng.getrandbits(32))
        self.network = world.fabric.machine(number, self.host)
        self.delay_s = FAST_DISK
        self.rate = 1.0
        self.skew_ms = 0
        self.tightness = 1
        self.is_running = False
        self.process: Process
        self.clock: SimClock
        self.rng: SimRng
        self.log: SimLog
        self.executor: SimExecutor
        self.on_down: OnDown = _nobody_minds
        self.terminate: Callable[[], None] | None = None
        """SIGTERM, once the process is ready for it."""
        self.may_lose_data: Callable[[], bool] = lambda: True
        """Whether a crash may take what was not synced; otherwise only the process dies."""
        self.may_crash: Callable[[], bool] = lambda: True
        """Whether the nemesis may take it down now."""
        self._boot = boot

    # --- life and death

    def start(self) -> None:
        assert not self.is_running, "one process at a time"
        world = self.world
        world.say("machine", self.number, "starts")
        self.is_running = True
        self.process = Process(world.loop, self.number)
        self.process.set_rate(self.rate)
        self.clock = SimClock(self.process, self.skew_ms)
        self.rng = SimRng(self.chance.getrandbits(32))
        self.rng.tightness = self.tightness
        self.log = SimLog(world.loop, self.process, is_loud=world.is_loud)
        self.executor = SimExecutor(world.loop, self.disk, self.chance, self.clock)
        self.executor.delay_s = self.delay_s
        self.disk.clock = self.clock.now_ms
        self.disk.on_crash = self._on_disk_crash
        world.fabric.power_on(self.number)
        self.terminate = None
        main = self.process.start(self._boot(self), f"main of {self.number}")
        main.add_done_callback(self._on_main_done)

    async def run_together(self, *works: Coroutine[Any, Any, None]) -> None:
        """All of them, as this machine's process; an error of one ends the run."""
        tasks = [self.world.loop.create_task(work) for work in works]
        for task in tasks:
            task.add_done_callback(self._on_main_done)
        for task in tasks:
            await task

    def _on_main_done(self, main: "asyncio.Task[None]") -> None:
        if main.cancelled() or (error := main.exception()) is None:
            return
        if not isinstance(error, Crash):  # the machine goes down, and knows already
            self.world.loop.fail(error)

    def crash(self, *, machine: bool) -> None:
        if not self.is_running:
            return
        machine = machine and self.may_lose_data()
        self.world.say("machine", self.number, "crashes" if machine else "loses its process")
        self.world.loop.note(self.number, int(machine))
        self.is_running = False
        self.process.kill()
        self.disk.on_crash = lambda: None
        self.process.run(self.executor.crash)
        self.disk.power_off(machine=machine)
        self.world.fabric.crash(self.number, is_machine=machine)
        self.on_down(self, is_machine=machine)

    def _on_disk_crash(self) -> None:
        if self.is_running and self.process.is_alive:
            self.process.kill()
            # Not from within the call that is being cut short.
            is_machine = self.chance.random() < 0.5
            self.world.later(0.0, lambda: self.crash(machine=is_machine))

    def stop(self) -> None:
        if self.is_running:
            self.world.say("machine", self.number, "is stopped")
            self.process.stop()

    def resume(self) -> None:
        if self.is_running:
            self.process.resume()

    # --- its pace

    def set_disk_delay(self, delay_s: tuple[float, float]) -> None:
        self.delay_s = delay_s
        if self.is_running:
            self.executor.delay_s = delay_s

    def set_rate(self, rate: float) -> None:
        self.rate = rate
        if self.is_running:
            self.process.set_rate(rate)

    def set_skew(self, skew_ms: int) -> None:
        """Wall time jumps; the other time does not."""
        self.skew_ms = skew_ms
        if self.is_running:
            self.clock.skew_ms = skew_ms

    def set_tightness(self, tightness: int) -> None:
        self.tightness = tightness
        if self.is_running:
            self.rng.tightness = tightness

    # --- what its process is made with

    def links(self, cluster_id: str, role: str, config: LinkConfig | None = None) -> StreamLinks:
        identity = Identity(cluster_id, self.number, role, self.rng.randbytes(16))
        return StreamLinks(self.network, identity, self.clock, self.log, config)
