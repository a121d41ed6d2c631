"""Every api that a broker serves, and who answers it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.fetching.reading import FetchParts
from barnabas_broker.forwarding import Forwarder
from barnabas_broker.handlers.fetch import FetchHandler
from barnabas_broker.handlers.init_producer_id import InitProducerIdHandler
from barnabas_broker.handlers.list_offsets import ListOffsetsHandler
from barnabas_broker.handlers.metadata import CreateTopics, MetadataHandler
from barnabas_broker.handlers.produce import ProduceHandler
from barnabas_broker.partitions.cold_reader import ColdReader
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.producer_ids import ProducerIds
from barnabas_broker.replica_moves import ReplicaMoves
from barnabas_broker.storage import Storage
from barnabas_core.metadata.node_features import (
    finalized_epoch,
    finalized_features,
    local_features,
)
from barnabas_core.ports import Clock, Executor, Rng
from barnabas_core.runtime.log_levels import LogLevels
from barnabas_core.runtime.supervisor import TaskList
from barnabas_core.server.api_versions import ApiVersionsHandler, FeatureView, NodeIdentity
from barnabas_core.server.dispatch import Handler, Reply, RequestContext
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.schema import Message

ADMIN: Final = (
    ApiKey.DELETE_RECORDS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)
"""What this broker answers to those who look after it."""

FORWARDED: Final = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_FEATURES,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.LIST_CONFIG_RESOURCES,
)
"""What the active controller answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerParts:
    view: ClusterView
    storage: Storage
    purgatory: Purgatory
    forwarder: Forwarder
    producer_ids: ProducerIds
    create_topics: CreateTopics | None
    clock: Clock
    executor: Executor
    tasks: TaskList
    fetch_bytes_max: int
    fetch_session_slots: int
    described_partition_count_max: int
    is_rack_aware: bool
    rng: Rng
    static_configs: Mapping[str, str]
    log_levels: LogLevels
    moves: ReplicaMoves


def handlers(on: HandlerParts, extra: Sequence[Handler] = ()) -> list[Handler]:
    """`extra`: what is served beside, and announced with the others."""
    served = [
        *extra,
        *_own(on),
        *_admin(on),
        *(Handler(key, partial(_forward, on.forwarder, key)) for key in FORWARDED),
    ]
    identity = NodeIdentity(on.view.cluster_id, on.view.node_id)
    return [*served, ApiVersionsHandler(served, identity, partial(_features, on.view)).handler]


def _own(on: HandlerParts) -> list[Handler]:
    partitions = on.storage.partitions
    produce = ProduceHandler(
        partitions, on.view, on.storage.writer, on.clock, on.executor, on.purgatory
    )
    cold_reader = ColdReader(on.executor, on.tasks)
    parts = FetchParts(
        partitions, on.view, on.purgatory, cold_reader, on.fetch_bytes_max, on.is_rack_aware
    )
    fetch = FetchHandler(parts, on.fetch_session_slots, on.clock, on.rng)
    return [
        Handler(ApiKey.PRODUCE, produce.handle),
        Handler(ApiKey.FETCH, fetch.handle),
        Handler(ApiKey.LIST_OFFSETS, ListOffsetsHandler(partitions, on.view, on.executor).handle),
        Handler(ApiKey.METADATA, MetadataHandler(on.view, on.create_topics).handle),
        Handler(ApiKey.INIT_PRODUCER_ID, InitProducerIdHandler(on.producer_ids).handle),
    ]


def _admin(on: HandlerParts) -> list[Handler]:
    """Loaded with the first request of any of them: nobody who starts a broker waits for that."""
    loaded: dict[ApiKey, Callable[[Any, RequestContext], Reply]] = {}

    def handle(
        key: ApiKey,
        request: Any,  # noqa: ANN401 - of the class that the key stands for
        context: RequestContext,
    ) -> Reply:
        if not loaded:
            from barnabas_broker.admin_handlers import admin_handlers  # noqa: PLC0415

            loaded.update(admin_handlers(on))
        return loaded[key](request, context)

    return [Handler(key, partial(handle, key)) for key in ADMIN]


def _forward(
    forwarder: Forwarder,
    key: ApiKey,
    request: Any,  # noqa: ANN401 - of the class that the key stands for
    context: RequestContext,
) -> Awaitable[Message]:
    return forwarder.forward(key, request, context)


def _features(view: ClusterView) -> FeatureView:
    image = view.image
    return FeatureView(
        supported=local_features(),
        finalized=tuple(
            (name, level, level)
            for name, level in finalized_features(image, view.kraft_version).items()
        ),
        epoch=finalized_epoch(image),
    )
