"""The worker process: `python -m barnabas_core.runtime.worker <job> <JSON arguments>`.

Prints one line of JSON. It never outlives the broker that started it: two processes that clean the
same partition would write into each other's files.
"""

import ctypes
import select
import signal
import sys
import time

from barnabas_core.log.worker import JOBS, JobContext
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if _nobody_listens():
        sys.exit("the broker was gone before the job began")


def _nobody_listens() -> bool:
    """Whether the other end of standard output is closed; the parent's id may be 1 in a pod."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poller.poll(0))


def main(arguments: list[str]) -> None:
    job, parameters = arguments
    die_with_parent()
    context = JobContext(RealDisk(), SystemClock(), lambda pause_ms: time.sleep(pause_ms / 1000))
    sys.stdout.write(JOBS[job](context, parameters) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
