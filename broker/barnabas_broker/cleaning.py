"""The log cleaner of a broker, loaded when the broker has been up for a while."""

import asyncio
from typing import Final

from barnabas_broker.live_settings import LiveSettings
from barnabas_broker.storage import Storage
from barnabas_broker.upkeep import Upkeep
from barnabas_core.ports import Clock, Executor
from barnabas_core.runtime.log_setup import EventLog

_DELAY_S: Final = 1


async def run_cleaner(
    storage: Storage,
    upkeep: Upkeep,
    live: LiveSettings,
    clock: Clock,
    executor: Executor,
    log: EventLog,
) -> None:
    # Nobody who connects should wait for what has all the time in the world.
    await asyncio.sleep(_DELAY_S)
    from barnabas_core.log.cleaner.settings import CleanerSettings  # noqa: PLC0415
    from barnabas_core.runtime.cleaner_task import CleanerHooks, CleanerTask  # noqa: PLC0415

    settings = live.cleaner_settings or CleanerSettings()
    hooks = CleanerHooks(upkeep.retain_log, storage.fail)
    cleaner = CleanerTask(storage.logs, executor, clock, log, settings, hooks)
    live.watch_cleaner(cleaner)
    storage.cleaner = cleaner
    await cleaner.run()
