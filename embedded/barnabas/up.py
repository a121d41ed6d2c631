"""`barnabas up`: start, say where, wait for the end, stop cleanly."""

import asyncio
import gc
import signal
import sys
from dataclasses import dataclass
from typing import Any

import uvloop

from barnabas.async_cluster import AsyncCluster
from barnabas.cluster_error import ClusterError
from barnabas.cluster_options import ClusterOptions
from barnabas_core.runtime.disk import raise_file_limit
from barnabas_core.runtime.heap import keep_heap_small
from barnabas_core.runtime.log_setup import EventLog, LogFormat

# A thread that waits for the interpreter gets it after this long, not after 5 ms: the loop shares
# it with threads that read and write files.
_SWITCH_INTERVAL_S = 0.0005
_SETTLED_S = 1.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    host: str
    port: int
    advertised_host: str | None
    data: str | None
    brokers: int
    metrics_port: int | None
    log_format: LogFormat
    log_level: str


def up(options: UpOptions) -> int:
    """The exit status."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_up(options))
        except ClusterError as error:
            print(f"barnabas: {error}", file=sys.stderr)
            return 1


async def _up(options: UpOptions) -> int:
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    log = EventLog(form=options.log_format, level=options.log_level)
    loop.set_exception_handler(lambda _, context: _report(log, context))
    cluster = AsyncCluster(
        ClusterOptions(
            data=options.data,
            host=options.host,
            port=options.port,
            advertised_host=options.advertised_host,
            brokers=options.brokers,
            metrics_port=options.metrics_port,
            log=log,
            with_faults=False,
        )
    )
    async with cluster:
        _say_where(cluster, options)
        # Not now: the first to connect should not wait for it.
        loop.call_later(_SETTLED_S, _settle)
        lost = loop.create_task(cluster.wait_lost())
        lost.add_done_callback(lambda _: end.set())
        heap = loop.create_task(keep_heap_small())
        await end.wait()
        is_lost = lost.done()
        lost.cancel()
        heap.cancel()
    if is_lost:
        print("barnabas: the data directory failed", file=sys.stderr)
    return int(is_lost)


def _settle() -> None:
    """What was loaded at the start stays for good: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


def _report(log: EventLog, context: dict[str, Any]) -> None:
    """What the event loop caught and nobody else did: a defect."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        log.failure(context["message"], error)
    else:
        log.error(context["message"])


def _say_where(cluster: AsyncCluster, options: UpOptions) -> None:
    address = cluster.bootstrap_servers
    kept = (
        f"in {options.data}" if options.data else "nowhere: gone at the end (--data DIR keeps it)"
    )
    lines = [
        f"bootstrap: {address}",
        f"data:      {kept}",
        f"kcat:      echo hello | kcat -b {address} -t demo -P; kcat -b {address} -t demo -C -e",
        f"Python:    confluent_kafka.Producer({{'bootstrap.servers': '{address}'}})",
        "Ctrl-C to stop.",
    ]
    if cluster.metrics_address is not None:
        host, port = cluster.metrics_address
        lines.insert(2, f"metrics:   http://{host}:{port}/metrics")
    print("\n".join(lines), flush=True)
