"""One round of all KafkaTopics of one cluster: looked at together, asked for in few requests."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from barnabas_core.wire.primitive import uuid_text
from barnabas_operator.api.config import topic_config
from barnabas_operator.api.parsing import InvalidResource, parse, rendered
from barnabas_operator.api.status import TopicStatus
from barnabas_operator.api.topic import TopicSpec
from barnabas_operator.health.cluster_port import ClusterPort, ClusterView, Refused, Unavailable
from barnabas_operator.kube.client import Json, KubeError
from barnabas_operator.kube.paths import path_of
from barnabas_operator.kube.reading import elapsed_ms
from barnabas_operator.plan.topic_state import (
    ClusterStanding,
    Reason,
    TopicWish,
    Verdict,
)
from barnabas_operator.plan.topics import TOPIC_LEFT, owners, plan_topic
from barnabas_operator.reconcile.cluster import Tools
from barnabas_operator.reconcile.moment import moment
from barnabas_operator.status.conditions import merge_conditions
from barnabas_operator.status.topic_conditions import topic_findings

T = TypeVar("T")
FINALIZER: Final = "barnabas.dev/topic"
_WRITES_AT_ONCE: Final = 16
_GONE: Final = 404
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class ClusterOfTopics:
    """The cluster that topics refer to, as far as they care."""

    namespace: str
    allowed_namespaces: tuple[str, ...] = ()
    port: ClusterPort | None = None
    """None: there is no such cluster, or it is being deleted."""

    def standing(self, namespace: str, view: ClusterView | None) -> ClusterStanding:
        if self.port is None:
            return ClusterStanding.GONE
        allowed = (self.namespace, *self.allowed_namespaces)
        if namespace not in allowed and "*" not in allowed:
            return ClusterStanding.FORBIDDEN
        return ClusterStanding.UNREACHABLE if view is None else ClusterStanding.THERE


@dataclass(frozen=True, slots=True)
class TopicReport:
    ready: int
    total: int
    is_settled: bool
    """Nothing is under way: the next look may take its time."""


async def reconcile_topics(
    tools: Tools, cluster: ClusterOfTopics, resources: Sequence[Json]
) -> TopicReport:
    """Finalizers first, then what is to be done, then the word about it: two writes for one."""
    view = await _view(cluster)
    now_ms = tools.clock.now_ms()
    verdicts = _judge(cluster, *_read(resources, now_ms), view)
    resources = await _each(resources, lambda raw: _mark(tools, raw, verdicts))
    wishes, faulty = _read(resources, now_ms)
    verdicts = _judge(cluster, wishes, faulty, view)
    refused = await _carry_out(tools, cluster, wishes, verdicts)
    if refused is not None:
        view = await _view(cluster) or view
        verdicts = _judge(cluster, wishes, faulty, view) | refused

    async def tell(raw: Json) -> None:
        uid = raw["metadata"]["uid"]
        await _tell(tools, raw, wishes.get(uid), verdicts[uid], view)

    await _each(resources, tell)
    ready = sum(one.is_ready for one in verdicts.values())
    is_settled = all(one.is_ready or one.is_final for one in verdicts.values())
    return TopicReport(ready, len(verdicts), is_settled)


async def _each(resources: Sequence[Json], work: Callable[[Json], Awaitable[T]]) -> list[T]:
    turn = asyncio.Semaphore(_WRITES_AT_ONCE)

    async def one(raw: Json) -> T:
        async with turn:
            return await work(raw)

    return await asyncio.gather(*(one(raw) for raw in resources))


def _judge(
    cluster: ClusterOfTopics,
    wishes: Mapping[str, TopicWish],
    faulty: Mapping[str, Verdict],
    view: ClusterView | None,
) -> dict[str, Verdict]:
    first = owners(_competing(wishes.values(), cluster))
    verdicts = dict(faulty)
    for uid, wish in wishes.items():
        topic = None if view is None else view.topics.get(wish.topic)
        brokers = {} if view is None else view.brokers
        standing = cluster.standing(wish.namespace, view)
        verdicts[uid] = plan_topic(wish, first.get(wish.topic, wish), standing, topic, brokers)
    return verdicts


def _competing(wishes: Iterable[TopicWish], cluster: ClusterOfTopics) -> list[TopicWish]:
    """Whoever may not have a topic does not keep others from it."""
    allowed = (cluster.namespace, *cluster.allowed_namespaces)
    return [one for one in wishes if one.namespace in allowed or "*" in allowed]


async def _view(cluster: ClusterOfTopics) -> ClusterView | None:
    if cluster.port is None:
        return None
    try:
        return await cluster.port.view()
    except (Unavailable, Refused):
        return None


def _read(
    resources: Sequence[Json], now_ms: int
) -> tuple[dict[str, TopicWish], dict[str, Verdict]]:
    """By uid: what can be read, and what is to be said of what cannot."""
    wishes, verdicts = {}, {}
    for raw in resources:
        uid = raw["metadata"]["uid"]
        try:
            wishes[uid] = read_wish(raw, now_ms)
        except InvalidResource as error:
            is_deleting = "deletionTimestamp" in raw["metadata"]
            verdicts[uid] = Verdict(
                False, Reason.CONFIG_REFUSED, str(error), drops_finalizer=is_deleting, is_final=True
            )
    return wishes, verdicts


def cluster_of(raw: Mapping[str, Any]) -> tuple[str, str]:
    """Namespace and name of the cluster that a topic refers to."""
    ref = raw["spec"]["clusterRef"]
    return ref.get("namespace") or raw["metadata"]["namespace"], ref["name"]


def read_wish(raw: Json, now_ms: int) -> TopicWish:
    metadata = raw["metadata"]
    spec = parse(TopicSpec, raw.get("spec") or {})
    return TopicWish(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        created_at=metadata["creationTimestamp"],
        topic=spec.topic_name or metadata["name"],
        partitions=spec.partitions,
        replicas=spec.replicas,
        config=topic_config(spec.config),
        deletes=not spec.keeps_topic,
        is_deleting="deletionTimestamp" in metadata,
        deleting_ms=elapsed_ms(metadata.get("deletionTimestamp"), now_ms),
        has_finalizer=FINALIZER in (metadata.get("finalizers") or []),
    )


async def _mark(tools: Tools, raw: Json, verdicts: Mapping[str, Verdict]) -> Json:
    """With its finalizer, where it should have one; as it was where it changed meanwhile."""
    metadata = raw["metadata"]
    if not verdicts[metadata["uid"]].wants_finalizer:
        return raw
    path = path_of("KafkaTopic", metadata["namespace"], metadata["name"])
    try:
        return await _set_finalizer(tools, path, raw, is_wanted=True)
    except KubeError as error:
        if error.status not in (_GONE, _CONFLICT):
            raise
        return raw


async def _carry_out(
    tools: Tools,
    cluster: ClusterOfTopics,
    wishes: Mapping[str, TopicWish],
    verdicts: Mapping[str, Verdict],
) -> dict[str, Verdict] | None:
    """What was refused, or None if there was nothing to do.

    A topic is only made once its resource has the finalizer that will delete it. And whoever lost
    the lease deletes none: it may be another one of that name by now, with a resource of its own.
    """
    acting = {uid: one for uid, one in verdicts.items() if one.actions and not one.wants_finalizer}
    if not acting or cluster.port is None or not tools.is_leader():
        return None
    try:
        refused = await cluster.port.carry_out_topics(
            [action for one in acting.values() for action in one.actions]
        )
    except (Unavailable, Refused) as error:
        told = str(error)
        return {
            uid: replace(one, reason=Reason.UNREACHABLE, message=told)
            for uid, one in acting.items()
        }
    return {
        uid: replace(one, is_ready=False, reason=Reason.REFUSED, message=refused[wishes[uid].topic])
        for uid, one in acting.items()
        if wishes[uid].topic in refused
    }


async def _tell(
    tools: Tools, raw: Json, wish: TopicWish | None, verdict: Verdict, view: ClusterView | None
) -> None:
    metadata = raw["metadata"]
    path = path_of("KafkaTopic", metadata["namespace"], metadata["name"])
    try:
        if verdict.drops_finalizer and FINALIZER in (metadata.get("finalizers") or []):
            await _set_finalizer(tools, path, raw, is_wanted=False)
            if "deletionTimestamp" in metadata:
                if verdict.message.startswith(TOPIC_LEFT):
                    kind = "Normal" if verdict.message == TOPIC_LEFT else "Warning"
                    await tools.events.post(raw, kind, "TopicLeft", verdict.message)
                return
        elif verdict.wants_finalizer:
            return
        await _write_status(tools, path, raw, _status(tools, raw, wish, verdict, view))
    except KubeError as error:
        # It changed or went meanwhile: the next round sees it as it is.
        if error.status not in (_GONE, _CONFLICT):
            raise


async def _set_finalizer(tools: Tools, path: str, raw: Json, *, is_wanted: bool) -> Json:
    others = [one for one in raw["metadata"].get("finalizers") or [] if one != FINALIZER]
    finalizers = [*others, FINALIZER] if is_wanted else others
    metadata = {
        "resourceVersion": raw["metadata"]["resourceVersion"],
        "finalizers": finalizers or None,
    }
    return await tools.kube.merge(path, {"metadata": metadata})


def _status(
    tools: Tools, raw: Json, wish: TopicWish | None, verdict: Verdict, view: ClusterView | None
) -> TopicStatus:
    generation = raw["metadata"]["generation"]
    before = parse(TopicStatus, raw.get("status") or {}, "status")
    conditions = merge_conditions(
        before.conditions, topic_findings(verdict), generation, moment(tools.clock)
    )
    status = replace(before, observed_generation=generation, conditions=conditions)
    topic = view.topics.get(wish.topic) if view is not None and wish is not None else None
    if topic is None or wish is None or view is None:
        return status
    return replace(
        status,
        topic_name=wish.topic,
        topic_id=uuid_text(view.topic_ids[wish.topic]) if wish.topic in view.topic_ids else None,
        partitions=len(topic.partitions),
        replicas=max((len(one.replicas) for one in topic.partitions), default=0),
    )


async def _write_status(tools: Tools, path: str, raw: Json, status: TopicStatus) -> None:
    wanted = rendered(status)
    if wanted != (raw.get("status") or {}):
        version = raw["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": version}, "status": wanted}
        await tools.kube.merge(f"{path}/status", change)
