"""What processes have used: processor time and memory, those they started included."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat behind the program's name.
_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 11, 12, 13, 14
# Fields of the first line of /proc/stat that are no work: idle, waiting for the disk.
_IDLE = (3, 4)


def cpu_seconds(pid: int) -> float:
    """Of the process, of its children that have ended, and of those that live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(fields[i]) for i in (_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM))
    return own / _TICKS + sum(map(cpu_seconds, children(pid)))


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    own = int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6
    return own + sum(map(resident_mb, children(pid)))


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that has ended
    return found


class Machine:
    """How much of the machine others used, between two moments."""

    def __init__(self) -> None:
        self._total, self._busy = self._jiffies()
        self._own = self._own_seconds()

    def others_share(self) -> float:
        """Of all cores, since this was made; once all that we started has ended."""
        total, busy = self._jiffies()
        own = (self._own_seconds() - self._own) * _TICKS
        return max(busy - self._busy - own, 0) / max(total - self._total, 1)

    @staticmethod
    def _jiffies() -> tuple[int, int]:
        fields = [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(fields), sum(fields) - sum(fields[i] for i in _IDLE)

    @staticmethod
    def _own_seconds() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system
