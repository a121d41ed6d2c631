"""The disk of a simulated machine: it outlives the processes that write to it.

`FakeDisk` keeps the contract of the port; here its files bear the machine's time, and it can be
told to die under its process in the middle of an operation, or to fail a sync.
"""

from typing import TYPE_CHECKING

from tests.support.fake_disk import Crash, FakeDisk

if TYPE_CHECKING:
    from collections.abc import Callable


class SimDisk(FakeDisk):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.clock: Callable[[], int] = lambda: 0
        self.on_crash: Callable[[], None] = lambda: None
        """Called once when `crash_after` strikes, before the operation is cut short."""

    def step(self) -> None:
        self.now_ms = self.clock()
        try:
            super().step()
        except Crash:
            self.on_crash()
            raise

    def forget_faults(self) -> None:
        self._crash_at = None
        self._sync_failure_in = None

    def power_off(self, *, machine: bool) -> None:
        """The process is gone, and with `machine` so is what was not synced."""
        if machine:
            self.crash_machine()
        else:
            self.crash_process()
