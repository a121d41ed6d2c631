"""What runs in a worker process: long, CPU-bound work on the files of one partition.

A job takes text, JSON or the path of a file with it, and gives one line of JSON. `runtime.worker`
is the process around it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.job import decode_task, encode_failure, encode_result, run_clean
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.opening.recovery_job import run_recovery
from barnabas_core.ports import Clock, Disk


@dataclass(frozen=True, slots=True)
class JobContext:
    disk: Disk
    clock: Clock
    pause_ms: Callable[[int], None]


def clean(context: JobContext, arguments: str) -> str:
    """Compact a partition's closed segments into `.cleaned` files."""
    task = decode_task(arguments)
    throttle = Throttle(task.io_bytes_per_second, context.clock, context.pause_ms)
    try:
        return encode_result(run_clean(context.disk, task, throttle))
    except UncleanableLog as error:
        return encode_failure(error)


def recover(context: JobContext, arguments: str) -> str:
    """Put partitions in order after a crash; the file named by `arguments` says which."""
    return run_recovery(context.disk, arguments)


JOBS: Mapping[str, Callable[[JobContext, str], str]] = {"clean": clean, "recover": recover}
