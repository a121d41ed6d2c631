"""A whole cluster in this process: real brokers on real sockets, nothing faked.

    with EmbeddedCluster() as cluster:                # in any thread
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})

    async with EmbeddedCluster() as cluster:          # on the running event loop
        ...

The plain form runs on an event loop of its own, in a thread. Without a data directory everything
is kept in a temporary one that is removed at the end.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.service import BrokerPorts, BrokerService
from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.error import LogError
from barnabas_core.ports import DiskError
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng

_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - to recognise them, not to listen on them


class ClusterError(Exception):
    """The cluster cannot start; the message says why in one line."""


class EmbeddedCluster:
    def __init__(
        self,
        *,
        data: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        log: EventLog | None = None,
    ) -> None:
        """`data` None: ephemeral. `port` 0: a free one."""
        self._data = data
        self._host = host
        self._port = port
        self._advertised_host = advertised_host or ("127.0.0.1" if host in _WILDCARDS else host)
        self._log = log or EventLog(level="warning")
        self._disk = RealDisk()
        self._temporary: str | None = None
        self._executor: SystemExecutor | None = None
        self._broker: BrokerService | None = None
        self._thread: _LoopThread | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given, `host:port`."""
        host, port = self.broker.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def broker(self) -> BrokerService:
        if self._broker is None:
            raise ClusterError("the cluster is not running")
        return self._broker

    @property
    def data(self) -> str | None:
        """Where the logs are."""
        return self._data or self._temporary

    # -- on the running loop

    async def start(self) -> None:
        if self._broker is not None:
            raise ClusterError("the cluster is running already")
        self._executor = SystemExecutor()
        try:
            self._broker = await self._start_broker(self._executor)
        except BaseException:
            self._clean_up()
            raise

    async def stop(self) -> None:
        broker, self._broker = self._broker, None
        try:
            if broker is not None:
                await broker.stop()
        finally:
            self._clean_up()

    async def _start_broker(self, executor: SystemExecutor) -> BrokerService:
        rng = SystemRng()
        path = self._data
        if path is None:
            try:
                path = self._temporary = _temporary_directory(rng)
            except OSError as error:
                raise ClusterError(f"cannot make a temporary directory: {error}") from error
        ports = BrokerPorts(SystemClock(), rng, self._disk, executor, SystemListener(), self._log)
        config = BrokerConfig(
            log_dirs=(path,),
            host=self._host,
            port=self._port,
            advertised_host=self._advertised_host,
        )
        try:
            broker = BrokerService(config, ports)
            await broker.start()
        except (DiskError, LogError, CorruptFile) as error:
            raise ClusterError(f"cannot use the data directory {path}: {error}") from error
        except OSError as error:
            address = f"{self._host}:{self._port}"
            reason = error.strerror or str(error)
            raise ClusterError(f"cannot listen on {address}: {reason}") from error
        return broker

    def _clean_up(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None
        if self._temporary is not None:
            self._disk.remove_tree(self._temporary)
            self._temporary = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    # -- in a thread

    def __enter__(self) -> Self:
        thread = _LoopThread()
        try:
            thread.run(self.start())
        except BaseException:
            thread.stop()
            raise
        self._thread = thread
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        thread, self._thread = self._thread, None
        assert thread is not None
        try:
            thread.run(self.stop())
        finally:
            thread.stop()


def _temporary_directory(rng: SystemRng) -> str:
    # As `tempfile` does it, whose import alone costs a tenth of the start.
    path = f"{os.environ.get('TMPDIR') or '/tmp'}/barnabas-{rng.randbytes(6).hex()}"  # noqa: S108
    os.mkdir(path, 0o700)
    return path


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        import uvloop  # noqa: PLC0415 - only here, where the loop is ours

        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, None]) -> None:
        """Run to its end, from outside."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()
