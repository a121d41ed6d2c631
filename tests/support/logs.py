"""A log manager on a disk in memory."""

from collections.abc import Sequence

from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.ports import Disk
from tests.support.manual_clock import ManualClock
from tests.support.small_log import NOW_MS, new_environment

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


def new_manager(
    disk: Disk, paths: Sequence[str] = ("/logs",), config: LogConfig | None = None
) -> LogManager:
    """Not opened yet."""
    return LogManager(
        new_environment(disk),
        ManualClock(NOW_MS),
        paths,
        cluster_id=CLUSTER_ID,
        node_id=1,
        config_of=lambda _: config or LogConfig(),
    )


def open_manager(
    disk: Disk, paths: Sequence[str] = ("/logs",), config: LogConfig | None = None
) -> LogManager:
    manager = new_manager(disk, paths, config)
    manager.open()
    return manager
