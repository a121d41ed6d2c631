"""What a broker does for groups: it owns shards, asks their coordinator, and answers clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.forwarding import Forwarder
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_broker.shards.find_coordinator import FindCoordinatorHandler
from barnabas_broker.shards.group_router import GroupRouter
from barnabas_broker.shards.internal_topic import GROUP_TOPIC, InternalTopic, number_of
from barnabas_broker.shards.shard_owner import OwnerParts, ShardOwner
from barnabas_broker.shards.shards import ShardParts, Shards
from barnabas_broker.storage import Storage
from barnabas_core.links.coordinator_message import GROUP
from barnabas_core.ports import Clock, Executor
from barnabas_core.ports.link import Links
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.server.dispatch import Handler
from barnabas_core.wire.api import ApiKey

if TYPE_CHECKING:
    from barnabas_broker.shards.leases import Leases

_COMMIT_TIMEOUT: Final = "offsets.commit.timeout.ms"
_COMMIT_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class CoordinationParts:
    view: ClusterView
    storage: Storage
    forwarder: Forwarder
    applier: MetadataApplier
    links: Links
    need_coordinator: Callable[[], None]
    clock: Clock
    executor: Executor
    log: EventLog


class GroupCoordination:
    def __init__(
        self, config: BrokerConfig, coordinators: CoordinatorView, on: CoordinationParts
    ) -> None:
        """Where there can be no coordinator there are no groups, and nothing of them is served."""
        self._shards: Shards | None = None
        self.handlers: list[Handler] = []
        if not coordinators.can_have_any:
            return
        properties = config.static_configs
        timeout_s = commit_timeout_s(properties)
        owner = OwnerParts(
            on.storage.writer, on.clock, on.executor, on.log, timeout_s,
            lambda: on.view.image.provenance.offset,
        )  # fmt: skip
        make_leases = partial(_make_leases, coordinators, config.rack, on)
        parts = ShardParts(on.view, on.storage.partitions, owner, make_leases)
        shards = self._shards = Shards(GROUP_TOPIC, parts)
        complaints = FloodLimit(on.log, on.clock)
        topic = InternalTopic(properties, on.forwarder, on.applier, on.view, complaints)
        find = FindCoordinatorHandler(shards, topic, on.view)
        self.handlers = [
            Handler(ApiKey.FIND_COORDINATOR, find.handle),
            *GroupRouter(shards, on.view).handlers,
        ]

    def start(self, supervisor: Supervisor) -> None:
        if self._shards is not None:
            supervisor.start("group shards", self._shards.run)

    def apply(self) -> None:
        """The metadata were applied: partitions may have come, gone, or changed their leader."""
        if self._shards is not None:
            self._shards.apply()


def _make_leases(
    coordinators: CoordinatorView,
    rack: str | None,
    on: CoordinationParts,
    owners: Mapping[int, ShardOwner],
) -> "Leases":
    # Loaded when somebody wants it.
    from barnabas_broker.shards.leases import LeaseParts, Leases  # noqa: PLC0415

    parts = LeaseParts(coordinators, GROUP, rack, on.links, on.need_coordinator, on.clock, on.log)
    return Leases(owners, parts)


def commit_timeout_s(properties: Mapping[str, str]) -> float:
    if _COMMIT_TIMEOUT not in properties:
        return _COMMIT_TIMEOUT_S  # the table of properties need not be loaded at every start
    return number_of(properties, _COMMIT_TIMEOUT) / 1000
