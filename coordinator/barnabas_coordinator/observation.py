"""Everything that a group coordinator tells of itself, and whether it is ready.

Ready: it has replayed all metadata that it knows to be committed, and is registered, unless whoever
uses it knows it anyway (`CoordinatorService.reason_not_ready`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.group.group_state import GroupType
from barnabas_coordinator.group.offsets.simple_group import all_group_ids, find_group
from barnabas_coordinator.lag_watch import LagWatch
from barnabas_coordinator.observation_config import ObservationConfig
from barnabas_coordinator.session import Session
from barnabas_core.runtime.metrics.definition import counter, gauge, histogram
from barnabas_core.runtime.metrics.histogram import Histogram
from barnabas_core.runtime.metrics.registry import Figure, Readiness, Registry, Role
from barnabas_core.wire.api import API_BY_KEY

_COORDINATOR: Final = "kafka.server:type=group-coordinator-metrics,name="
GROUPS: Final = gauge(
    "barnabas_groups",
    "Groups by protocol and state.",
    "type",
    "state",
    jmx=f"{_COORDINATOR}{{group-count,consumer-group-count}},protocol=*,state=*",
)
MEMBERS: Final = gauge("barnabas_group_members", "Members of a group.", "group", "type")
OFFSETS: Final = gauge(
    "barnabas_group_offsets",
    "Committed offsets that are kept.",
    jmx="kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets",
)
REQUESTS: Final = counter(
    "barnabas_group_requests_total",
    "Requests about groups that were decided, heartbeats among them.",
    "api",
)
COMMITS: Final = counter(
    "barnabas_group_offset_commits_total",
    "Offsets that were committed.",
    jmx=f"{_COORDINATOR}offset-commit-count",
)
EXPIRATIONS: Final = counter(
    "barnabas_group_offset_expirations_total",
    "Offsets that were deleted as they had been kept for long enough.",
    jmx=f"{_COORDINATOR}offset-expiration-count",
)
DELETIONS: Final = counter(
    "barnabas_group_offset_deletions_total",
    "Offsets that were deleted otherwise: by an administrator, or with their topic.",
    jmx=f"{_COORDINATOR}offset-deletion-count",
)
REBALANCES: Final = counter(
    "barnabas_group_rebalances_total",
    "Generations of classic groups that were completed; epochs that consumer groups began.",
    "type",
    jmx=f"{_COORDINATOR}{{group-completed-rebalance-count,consumer-group-rebalance-count}}",
)
SESSIONS: Final = gauge(
    "barnabas_shard_sessions",
    "Shards that are leased to this coordinator: loading, open.",
    "state",
    jmx=f"{_COORDINATOR}num-partitions,state=*",
)
LOAD_TIME: Final = histogram(
    "barnabas_shard_load_time_seconds",
    "From the beginning of a session until its shard was loaded.",
    jmx=f"{_COORDINATOR}{{partition-load-time-max,partition-load-time-avg}}",
)
COMMITTED: Final = gauge(
    "barnabas_group_committed_offset",
    "What a group has committed, some seconds ago.",
    "group",
    "topic",
    "partition",
)
LAG_RECORDS: Final = gauge(
    "barnabas_group_lag_records",
    "Records between what a group has committed and the high watermark, some seconds ago.",
    "group",
    "topic",
    "partition",
)
LAG_SECONDS: Final = gauge(
    "barnabas_group_lag_seconds",
    "For how long, at least, the first record that is not committed has been there.",
    "group",
    "topic",
    "partition",
)
LEFT_OUT: Final = gauge(
    "barnabas_group_partitions_left_out",
    "Committed offsets that are beyond metrics.group.partitions.max and not told one by one.",
)
METRICS: Final = (
    *(GROUPS, MEMBERS, OFFSETS, REQUESTS, COMMITS, EXPIRATIONS, DELETIONS, REBALANCES),
    *(COMMITTED, LAG_RECORDS, LAG_SECONDS, LEFT_OUT, SESSIONS, LOAD_TIME),
)


# Groups between two turns of the event loop.
_STRIDE: Final = 500


@dataclass(frozen=True, slots=True)
class ObservedCoordinator:
    config: ObservationConfig
    sessions: Callable[[], Iterable[Session]]
    load_times: Histogram
    lag: LagWatch
    readiness: Readiness


class CoordinatorObserver:
    def __init__(self, registry: Registry, of: ObservedCoordinator) -> None:
        self._of = of
        sources = (self._sessions, self._groups, self._counts, self._lags)
        node_id = of.config.node_id
        registry.add(f"coordinator {node_id}", Role(node_id, sources, of.readiness))

    def _shards(self) -> list[GroupShard]:
        return list(loaded_shards(self._of.sessions()))

    def _sessions(self) -> Iterator[Figure]:
        sessions = list(self._of.sessions())
        opened = sum(session.is_loaded for session in sessions)
        yield Figure(SESSIONS, ("loading",), len(sessions) - opened)
        yield Figure(SESSIONS, ("open",), opened)
        yield Figure(LOAD_TIME, (), self._of.load_times)

    def _groups(self) -> Iterator[Figure | None]:
        states: dict[tuple[str, str], int] = {}
        room = self._of.config.series_max
        offset_count = 0
        for shard in self._shards():
            offset_count += shard.state.offsets.count
            for number, group_id in enumerate(all_group_ids(shard.state)):
                if number % _STRIDE == 0:
                    yield None
                group = find_group(shard.state, group_id)
                if group is None:
                    continue
                standing = group.type.value, group.state_name
                states[standing] = states.get(standing, 0) + 1
                if room > 0:
                    room -= 1
                    labels = group_id, group.type.value
                    yield Figure(MEMBERS, labels, group.member_count)
        yield Figure(OFFSETS, (), offset_count)
        for standing, count in states.items():
            yield Figure(GROUPS, standing, count)

    def _counts(self) -> Iterator[Figure]:
        counts = self._of.config.counts
        for key, count in list(counts.requests.items()):
            yield Figure(REQUESTS, (API_BY_KEY[key].name,), count)
        yield Figure(COMMITS, (), counts.commits)
        yield Figure(EXPIRATIONS, (), counts.expirations)
        yield Figure(DELETIONS, (), counts.deletions)
        for kind in GroupType:
            yield Figure(REBALANCES, (kind.value,), counts.rebalances[kind])

    def _lags(self) -> Iterator[Figure]:
        for commit, records, seconds in self._of.lag.lags:
            labels = commit.group, commit.topic, str(commit.partition)
            yield Figure(COMMITTED, labels, commit.offset)
            if records is not None and seconds is not None:
                yield Figure(LAG_RECORDS, labels, records)
                yield Figure(LAG_SECONDS, labels, seconds)
        yield Figure(LEFT_OUT, (), self._of.lag.left_out_count)


def loaded_shards(sessions: Iterable[Session]) -> Iterator[GroupShard]:
    for session in sessions:
        if session.is_loaded and isinstance(session.machine, GroupShard):
            yield session.machine
