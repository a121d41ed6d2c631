"""A whole cluster in this process: real brokers on real sockets, nothing faked.

    with EmbeddedCluster(brokers=3) as cluster:        # in any thread
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        cluster.kill_broker(2)

    async with EmbeddedCluster(brokers=3) as cluster:  # on the running event loop
        await cluster.kill_broker(2)

The plain form runs an `AsyncCluster` on an event loop of its own, in a thread, and its calls block;
the async form is that `AsyncCluster` itself. Without a data directory everything is kept in a
temporary one that is removed at the end.
"""

import functools
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from barnabas.async_cluster import AsyncCluster
from barnabas.cluster_error import ClusterError
from barnabas.cluster_options import ClusterOptions
from barnabas.faults import Faults
from barnabas.loop_thread import LoopThread
from barnabas_broker.service import BrokerService
from barnabas_core.runtime.log_setup import EventLog

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["ClusterError", "EmbeddedCluster"]


def _blocking(
    method: Callable[Concatenate[AsyncCluster, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["EmbeddedCluster", P], T]:
    """The same for any thread, waiting for the end."""

    @functools.wraps(method)
    def call(self: "EmbeddedCluster", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.wait_for(method(self.on_loop, *args, **kwargs))

    return call


class EmbeddedCluster:
    def __init__(  # noqa: PLR0913 - all by name, and all with a default
        self,
        *,
        data: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        brokers: int = 1,
        config: Mapping[str, str] | None = None,
        metrics_port: int | None = None,
        log: EventLog | None = None,
    ) -> None:
        """`data` None: ephemeral. `port` 0: free ones; otherwise the brokers count up from it.

        `config`: Kafka's broker properties, for all brokers alike. `metrics_port`: where figures
        are given to Prometheus, 0 for a free one; None: nowhere.
        """
        options = ClusterOptions(
            data=data,
            host=host,
            port=port,
            advertised_host=advertised_host,
            brokers=brokers,
            config=dict(config or {}),
            metrics_port=metrics_port,
            log=log or EventLog(level="warning"),
        )
        self.on_loop = AsyncCluster(options)
        self._thread: LoopThread | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given, `host:port,...`; brokers that are down for now included."""
        return self.on_loop.bootstrap_servers

    @property
    def broker_ids(self) -> list[int]:
        """Of all brokers, running or not."""
        return self.on_loop.broker_ids

    @property
    def brokers(self) -> list[BrokerService]:
        """Those that run."""
        return self.on_loop.brokers

    @property
    def broker(self) -> BrokerService:
        """The first that runs."""
        return self.on_loop.broker

    @property
    def data(self) -> str | None:
        """Where the logs are: a directory for each node."""
        return self.on_loop.data

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Where its figures are, if it was told to give them."""
        return self.on_loop.metrics_address

    @property
    def faults(self) -> Faults:
        return self.on_loop.faults

    leader_of = _blocking(AsyncCluster.leader_of)
    create_topic = _blocking(AsyncCluster.create_topic)
    has_topic = _blocking(AsyncCluster.has_topic)
    delete_topic = _blocking(AsyncCluster.delete_topic)
    stop_broker = _blocking(AsyncCluster.stop_broker)
    kill_broker = _blocking(AsyncCluster.kill_broker)
    start_broker = _blocking(AsyncCluster.start_broker)
    move_leader = _blocking(AsyncCluster.move_leader)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the cluster's event loop, to its end."""
        if self._thread is None:
            work.close()
            raise ClusterError("the cluster is not running in a thread of its own")
        return self._thread.run(work)

    # -- in a thread

    def start(self) -> None:
        if self._thread is not None:
            raise ClusterError("the cluster is running already")
        self._thread = LoopThread()
        try:
            self._thread.run(self.on_loop.start())
        except BaseException:
            self._end_thread()
            raise

    def stop(self) -> None:
        assert self._thread is not None, "it was started"
        try:
            self._thread.run(self.on_loop.stop())
        finally:
            self._end_thread()

    def _end_thread(self) -> None:
        thread, self._thread = self._thread, None
        assert thread is not None
        thread.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    # -- on the running loop

    async def __aenter__(self) -> AsyncCluster:
        await self.on_loop.start()
        return self.on_loop

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.on_loop.stop()
