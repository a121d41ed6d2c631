"""What the operating system knows of this process, under the names that every exporter uses."""

import os
import resource
import time
from collections.abc import Iterator
from typing import Final

from barnabas_core.runtime.metrics.definition import counter, gauge
from barnabas_core.runtime.metrics.registry import Figure

CPU: Final = counter(
    "process_cpu_seconds_total",
    "Processor time, user and system.",
    jmx="java.lang:type=OperatingSystem,ProcessCpuTime",
)
RESIDENT: Final = gauge("process_resident_memory_bytes", "Memory that is in use and in RAM.")
VIRTUAL: Final = gauge("process_virtual_memory_bytes", "Address space, mapped files included.")
OPEN_FDS: Final = gauge(
    "process_open_fds",
    "Open files and sockets.",
    jmx="java.lang:type=OperatingSystem,OpenFileDescriptorCount",
)
MAX_FDS: Final = gauge(
    "process_max_fds",
    "How many may be open.",
    jmx="java.lang:type=OperatingSystem,MaxFileDescriptorCount",
)
STARTED: Final = gauge(
    "process_start_time_seconds",
    "When the process began, in seconds since 1970.",
    jmx="java.lang:type=Runtime,StartTime",
)
METRICS: Final = (CPU, RESIDENT, VIRTUAL, OPEN_FDS, MAX_FDS, STARTED)

_PAGE_BYTES: Final = resource.getpagesize()
_STARTED_AT_S: Final = time.time()


class ProcessFigures:
    """`refresh` in a thread, as /proc with ten thousand files takes its time; then read."""

    def __init__(self) -> None:
        self._figures: tuple[Figure, ...] = ()

    def refresh(self) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        figures = [
            Figure(CPU, (), usage.ru_utime + usage.ru_stime),
            Figure(MAX_FDS, (), resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
            Figure(STARTED, (), _STARTED_AT_S),
        ]
        try:
            with open("/proc/self/statm", encoding="ascii") as statm:
                pages = statm.read().split()
            figures += [
                Figure(VIRTUAL, (), int(pages[0]) * _PAGE_BYTES),
                Figure(RESIDENT, (), int(pages[1]) * _PAGE_BYTES),
                Figure(OPEN_FDS, (), len(os.listdir("/proc/self/fd"))),
            ]
        except OSError:
            pass  # not Linux, or no file may be opened: the others stand
        self._figures = tuple(figures)

    def __call__(self) -> Iterator[Figure]:
        return iter(self._figures)
