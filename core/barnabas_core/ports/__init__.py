"""The interfaces to whatever touches the world: a simulator puts its own behind them."""

from barnabas_core.ports.clock import Clock
from barnabas_core.ports.disk import Buffer, Disk, DiskError, File, Locked, TooManyOpenFiles
from barnabas_core.ports.executor import Executor
from barnabas_core.ports.rng import Rng

__all__ = [
    "Buffer",
    "Clock",
    "Disk",
    "DiskError",
    "Executor",
    "File",
    "Locked",
    "Rng",
    "TooManyOpenFiles",
]
