"""The broker as a whole: logs, handlers, listener and upkeep put together, started and stopped.

Everything that touches the world comes in through `BrokerPorts`, so that the same broker runs on
real sockets and disks and in a simulation.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.ports import Clock, Disk, DiskError, Executor, Rng
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor, TaskList
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.api_versions import ApiVersionsHandler, NodeIdentity
from barnabas_core.server.dispatch import Dispatcher, Handler
from barnabas_core.server.endpoint import Endpoint, EndpointParts, Listener
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.primitive import uuid_text

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.handlers.fetch import FetchHandler
from barnabas_broker.handlers.init_producer_id import InitProducerIdHandler
from barnabas_broker.handlers.list_offsets import ListOffsetsHandler
from barnabas_broker.handlers.metadata import MetadataHandler
from barnabas_broker.handlers.produce import ProduceHandler
from barnabas_broker.metadata_memory import BrokerNode, MemoryMetadata
from barnabas_broker.partitions.cold_reader import ColdReader
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.storage import Storage, StorageParts, new_topic_id, open_logs
from barnabas_broker.upkeep import Upkeep

_CLEANER_DELAY_S: Final = 1


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    clock: Clock
    rng: Rng
    disk: Disk
    executor: Executor
    listener: Listener
    log: EventLog


class BrokerService:
    """Make it inside a running loop, `start`, `stop`."""

    def __init__(self, config: BrokerConfig, on: BrokerPorts) -> None:
        self._config = config
        self._on = on
        self._timers = Timers(on.clock)
        self._tasks = TaskList(on.log)
        self._supervisor = Supervisor(on.log)
        cluster_id = find_cluster_id(config, on)
        host = config.advertised_host or config.host
        node = BrokerNode(config.node_id, host, config.port, config.rack)
        self.metadata = MemoryMetadata(cluster_id, node)
        self.purgatory = Purgatory(self._timers)
        environment = LogEnvironment(on.disk, on.rng, config.producer_expiration_ms)
        logs = open_logs(
            environment,
            on.clock,
            config.log_dirs,
            (cluster_id, config.node_id),
            config.topic_defaults,
        )
        parts = StorageParts(on.clock, on.executor, on.log)
        self.storage = Storage(logs, self.metadata, self.purgatory, parts)
        self._dispatcher = Dispatcher(self._handlers(), on.log)
        self.endpoint = Endpoint(
            on.listener,
            self._dispatcher,
            config.endpoint,
            EndpointParts(on.clock, self._timers, on.executor, on.log, self.storage.fail),
        )

    @property
    def address(self) -> tuple[str, int]:
        """Where clients reach it."""
        node = self.metadata.node
        return node.host, node.port

    async def start(self) -> None:
        """Open the logs, then the listener: who can connect is served."""
        try:
            await self.storage.open()
            _, port = await self.endpoint.open(self._config.host, self._config.port)
        except BaseException:
            await self.storage.close()
            self._timers.close()
            raise
        node = self.metadata.node
        self.metadata.node = BrokerNode(node.node_id, node.host, port, node.rack)
        upkeep = Upkeep(self.storage, self._on.clock, self._on.executor, self._config)
        upkeep.start(self._supervisor)
        self._supervisor.start("cleaner", lambda: self._clean(upkeep))

    async def stop(self) -> None:
        """Take no more requests, then leave the disk as after a clean shutdown."""
        await self.endpoint.close()
        await self._dispatcher.close()
        await self._tasks.stop()
        await self._supervisor.stop()
        await self.storage.close()
        self.endpoint.abort_connections()
        self._timers.close()

    async def _clean(self, upkeep: Upkeep) -> None:
        # Loaded here: nobody who connects should wait for what has all the time in the world.
        await asyncio.sleep(_CLEANER_DELAY_S)
        from barnabas_core.log.cleaner.settings import CleanerSettings  # noqa: PLC0415
        from barnabas_core.runtime.cleaner_task import CleanerHooks, CleanerTask  # noqa: PLC0415

        on, logs = self._on, self.storage.logs
        settings = self._config.cleaner or CleanerSettings()
        hooks = CleanerHooks(upkeep.retain_log, self.storage.fail)
        await CleanerTask(logs, on.executor, on.clock, on.log, settings, hooks).run()

    async def wait_lost(self) -> None:
        """Returns when there is no log directory left to serve from."""
        await self.storage.all_lost.wait()

    def _handlers(self) -> list[Handler]:
        storage, metadata = self.storage, self.metadata
        partitions = storage.partitions
        cold_reader = ColdReader(self._on.executor, self._tasks)
        produce = ProduceHandler(
            partitions, metadata, storage.writer, self._on.clock, self._on.executor
        )
        fetch = FetchHandler(
            partitions, metadata, self.purgatory, cold_reader, self._config.fetch_bytes_max
        )
        creates = self._create_topic if self._config.auto_create_topics else None
        handlers = [
            Handler(ApiKey.PRODUCE, produce.handle),
            Handler(ApiKey.FETCH, fetch.handle),
            Handler(ApiKey.LIST_OFFSETS, ListOffsetsHandler(partitions, self._on.executor).handle),
            Handler(ApiKey.METADATA, MetadataHandler(metadata, creates).handle),
            Handler(ApiKey.INIT_PRODUCER_ID, InitProducerIdHandler(self._on.rng).handle),
        ]
        identity = NodeIdentity(metadata.cluster_id, self._config.node_id)
        return [*handlers, ApiVersionsHandler(handlers, identity).handler]

    async def _create_topic(self, name: str) -> ErrorCode:
        return await self.storage.create_topic(name, self._config.partition_count)


def find_cluster_id(config: BrokerConfig, on: BrokerPorts) -> str:
    """The cluster that the log directories belong to; a new one if they are new."""
    for path in config.log_dirs:
        try:
            data = on.disk.read(f"{path}/{META_PROPERTIES_FILE}")
        except DiskError:
            continue  # opening it will say what is wrong
        if data is not None:
            return MetaProperties.decode(data).cluster_id
    return uuid_text(new_topic_id(on.rng))
