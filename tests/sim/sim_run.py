"""One simulation on its virtual loop, from start to end."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from tests.sim.sim_machine import World
from tests.sim.sim_profile import Outcome


class Simulated(Protocol):
    world: World

    def scale(self) -> AbstractContextManager[object]:
        """In force while it runs: times that are not settings, to go with those that are."""
        ...

    async def main(self) -> None: ...

    def coverage(self) -> Mapping[str, int]: ...


def run_to_end(simulation: Simulated, faults_s: float) -> Outcome:
    """Raises what went wrong. `faults_s`: when the faults end, and recovery begins."""
    loop = simulation.world.loop
    try:
        with simulation.scale():
            loop.run_until_complete(simulation.main())
    finally:
        loop.close()
    return Outcome(loop.trace, simulation.coverage(), int((loop.now - faults_s) * 1e6))
