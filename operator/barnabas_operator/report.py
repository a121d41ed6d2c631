"""A cluster's status as a page for people: pools, the roll, lag, and what blocks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.parsing import parse
from barnabas_operator.api.status import ClusterStatus, Condition, PoolStatus, RolloutStatus
from barnabas_operator.specs.names import CONTROLLERS, GROUP

GOOD_IF_FALSE: Final = frozenset({"Progressing", "Degraded", "Paused", "Reconciling", "Stalled"})


def cluster_report(resource: Mapping[str, Any]) -> list[str]:
    """Lines about a `KafkaCluster`; `InvalidResource` if it is none."""
    metadata = resource["metadata"]
    spec = parse(ClusterSpec, resource["spec"])
    status = parse(ClusterStatus, resource.get("status") or {}, "status")
    lines = [f"{metadata['namespace']}/{metadata['name']}: {_summary(status)}", *_facts(status)]
    if status.observed_generation != metadata.get("generation"):
        lines.append("the operator has not seen the newest change of this resource yet")
    lines += ["", *_pools(spec, status)]
    if status.listeners:
        rows = [(one.name, one.type, one.bootstrap_servers) for one in status.listeners]
        lines += ["", *_table(("LISTENER", "TYPE", "BOOTSTRAP SERVERS"), rows)]
    lines += ["", *_rollout(status.rollout), *_quorum(status), *_replication(status)]
    return [*lines, *_troubles(status.conditions)]


def _summary(status: ClusterStatus) -> str:
    ready = next((one for one in status.conditions if one.type == "Ready"), None)
    if ready is None:
        return "no operator has seen it"
    word = {"True": "ready", "False": "not ready"}.get(ready.status.value, "unknown")
    return f"{word} ({ready.message})" if ready.message else word


def _facts(status: ClusterStatus) -> list[str]:
    known = (
        ("version", status.version),
        ("metadata version", status.metadata_version),
        ("cluster id", status.cluster_id),
        ("operator", status.operator_version),
    )
    shown = ", ".join(f"{name} {value}" for name, value in known if value is not None)
    return [shown] if shown else []


def _pools(spec: ClusterSpec, status: ClusterStatus) -> list[str]:
    wanted = _wanted(spec)
    rows = [
        (one.name, one.role, _node_ids(one), *_counts(one, wanted.get(one.name, 0)))
        for one in status.pools
    ]
    return _table(("POOL", "ROLE", "NODE IDS", "READY", "UPDATED"), rows)


def _counts(pool: PoolStatus, wanted: int) -> tuple[str, str]:
    return f"{pool.ready}/{wanted}", f"{pool.updated}/{pool.replicas}"


def _wanted(spec: ClusterSpec) -> dict[str, int]:
    found = {pool.name: pool.replicas for pool in spec.brokers}
    if spec.controllers is not None:
        found[CONTROLLERS] = spec.controllers.replicas
    if spec.coordinators is not None and spec.coordinators.group is not None:
        found[GROUP] = spec.coordinators.group.replicas
    return found


def _node_ids(pool: PoolStatus) -> str:
    if pool.replicas == 0:
        return "none"
    last = pool.first_node_id + pool.replicas - 1
    return str(last) if pool.replicas == 1 else f"{pool.first_node_id}-{last}"


def _rollout(rollout: RolloutStatus | None) -> list[str]:
    if rollout is None:
        return ["roll: none under way"]
    lines = [f"roll: {rollout.updated} of {rollout.total} pods at revision {rollout.revision}"]
    if rollout.current:
        lines.append(f"  restarting: {', '.join(rollout.current)}")
    return lines + [f"  blocked by: {reason}" for reason in rollout.blocked_by]


def _quorum(status: ClusterStatus) -> list[str]:
    if not status.voters:
        return []
    leader = next((str(one.node_id) for one in status.voters if one.is_leader), "none")
    lags = ", ".join(
        f"{one.node_id} {'never heard of' if one.lag < 0 else one.lag}"
        for one in status.voters
        if not one.is_leader
    )
    return [f"quorum: leader {leader}" + (f"; records behind: {lags}" if lags else "")]


def _replication(status: ClusterStatus) -> list[str]:
    found = status.replication
    if found is None:
        return []
    troubles = (
        ("without a leader", found.offline),
        ("below min.insync.replicas", found.under_min_isr),
        ("with replicas that lag", found.under_replicated),
        ("being moved", found.moving),
    )
    shown = ", ".join(f"{count} {what}" for what, count in troubles if count)
    return [f"partitions: {found.partitions}, {shown or 'all in sync'}"]


def _troubles(conditions: Iterable[Condition]) -> Iterator[str]:
    """Conditions that are not as they should be."""
    for one in conditions:
        wanted = "False" if one.type in GOOD_IF_FALSE else "True"
        if one.status.value != wanted:
            yield f"{one.type} is {one.status.value}: {one.reason}: {one.message}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
