"""The operator as a whole: rounds for clusters and topics, as long as it holds the lease."""

import asyncio
from collections.abc import Callable, Collection
from typing import Final, Protocol

from barnabas_core.ports import Clock, Rng
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.api.parsing import InvalidResource
from barnabas_operator.figures import Figures, Key
from barnabas_operator.health.cluster_port import ClusterPort, SilentCluster
from barnabas_operator.kube.applier import Applier
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection, path_of
from barnabas_operator.reconcile.cluster import Report, Tools, reconcile
from barnabas_operator.reconcile.events import Events
from barnabas_operator.reconcile.rounds import ROUND_S_MAX, Rounds
from barnabas_operator.reconcile.topics import ClusterOfTopics, cluster_of, reconcile_topics
from barnabas_operator.reconcile.wish import blueprint, read_resource
from barnabas_operator.specs.blueprint import Blueprint, Images

_RELIST_S: Final = 60.0
_RELIST_RETRY_S: Final = 5.0
_TOPIC_STEP_MS: Final = 2_000
_TOPIC_REST_MS: Final = 60_000
_STUCK_MS: Final = int(ROUND_S_MAX * 1000) + 60_000


class Ports(Protocol):
    """The ways to the clusters that there are."""

    def of(self, cluster: Blueprint) -> ClusterPort: ...

    async def close(self, namespace: str, name: str) -> None:
        """Of a cluster that is gone."""


class OperatorService:
    def __init__(
        self,
        kube: Kube,
        ports: Ports,
        images: Images,
        world: tuple[Clock, Rng, EventLog],
        *,
        namespaces: Collection[str] = (),
        is_leader: Callable[[], bool] = lambda: True,
    ) -> None:
        clock, rng, log = world
        self._kube = kube
        self._clock = clock
        self._log = log
        self._namespaces = tuple(namespaces)
        self._ports = ports
        self._applier = Applier(kube)
        events = Events(kube, clock, rng, log)
        self._tools = Tools(
            kube, self._applier, clock, rng, log, images, events, is_leader, ports.of
        )
        self.figures = Figures()
        self.clusters: Rounds[Key] = Rounds(self._cluster_round, clock, log)
        self.topics: Rounds[Key] = Rounds(self._topic_round, clock, log)
        self._listed_at_ms = clock.monotonic_ms()

    # --- what happened

    def on_cluster(self, namespace: str, name: str) -> None:
        self.clusters.poke((namespace, name))
        if (namespace, name) in self.topics.keys:
            self.topics.poke((namespace, name))

    def on_topic(self, namespace: str, cluster: str) -> None:
        """Of the cluster to which a topic refers."""
        self.topics.poke((namespace, cluster))

    def begin(self) -> None:
        """Whatever was waited for before does not count as a standstill."""
        self._listed_at_ms = self._clock.monotonic_ms()

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                try:
                    await self._list()
                except KubeError as error:
                    self._log.warning("nothing could be listed", reason=str(error))
                    await asyncio.sleep(_RELIST_RETRY_S)
                    continue
                await asyncio.sleep(_RELIST_S)
        finally:
            await self.clusters.stop()
            await self.topics.stop()

    def reason_not_alive(self) -> str | None:
        """Progress, not the mere turning of the loop: rounds end, and lists come in."""
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._listed_at_ms > _STUCK_MS:
            return f"nothing was listed for {(now_ms - self._listed_at_ms) // 1000} s"
        for rounds in (self.clusters, self.topics):
            if rounds.keys and now_ms - rounds.finished_at_ms > _STUCK_MS:
                return f"no round ended for {(now_ms - rounds.finished_at_ms) // 1000} s"
        return None

    async def _list(self) -> None:
        for raw in await self._all("KafkaCluster"):
            self.clusters.poke((raw["metadata"]["namespace"], raw["metadata"]["name"]))
        for key in dict.fromkeys(cluster_of(raw) for raw in await self._all("KafkaTopic")):
            self.topics.poke(key)
        self._listed_at_ms = self._clock.monotonic_ms()

    async def _all(self, kind: str) -> list[Json]:
        if not self._namespaces:
            return await self._kube.list(collection(kind))
        listed = [await self._kube.list(collection(kind, one)) for one in self._namespaces]
        return [raw for part in listed for raw in part]

    # --- rounds

    async def _cluster_round(self, key: Key) -> int | None:
        raw = await self._kube.get(path_of("KafkaCluster", *key))
        if raw is None:
            self.figures.forget(key)
            await self._ports.close(*key)
            if key in self.topics.keys:
                self.topics.poke(key)
            return None
        try:
            report = await reconcile(self._tools, raw)
        except BaseException:
            self.figures.count("cluster", "failed")
            raise
        self._note(key, report)
        for failure in report.failures:
            self._log.warning("a step failed and comes again", cluster=key[1], reason=failure)
        return report.next_ms

    def _note(self, key: Key, report: Report) -> None:
        figures = self.figures
        figures.count("cluster", "done")
        figures.writes = self._applier.write_count
        figures.stable[key] = report.is_stable
        figures.pods[key] = report.updated, report.total
        restarts = figures.restarts.get(key, 0)
        figures.restarts[key] = restarts + len(report.restarted)

    async def _topic_round(self, key: Key) -> int | None:
        resources = [raw for raw in await self._all("KafkaTopic") if cluster_of(raw) == key]
        if not resources:
            self.figures.topics.pop(key, None)
            return None
        try:
            report = await reconcile_topics(self._tools, await self._cluster(key), resources)
        except BaseException:
            self.figures.count("topics", "failed")
            raise
        self.figures.count("topics", "done")
        self.figures.topics[key] = report.ready, report.total
        return _TOPIC_REST_MS if report.is_settled else _TOPIC_STEP_MS

    async def _cluster(self, key: Key) -> ClusterOfTopics:
        raw = await self._kube.get(path_of("KafkaCluster", *key))
        if raw is None or "deletionTimestamp" in raw["metadata"]:
            return ClusterOfTopics(key[0])
        try:
            resource = read_resource(raw)
        except InvalidResource:
            return ClusterOfTopics(key[0], port=SilentCluster())
        allowed = resource.spec.allowed_namespaces
        if resource.status.cluster_id is None:
            return ClusterOfTopics(key[0], allowed, SilentCluster())
        cluster = blueprint(resource, self._tools.images)
        return ClusterOfTopics(key[0], allowed, self._tools.port_of(cluster))
