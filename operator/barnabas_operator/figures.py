"""What the operator tells Prometheus of itself and of its clusters."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas_core.runtime.metrics.definition import counter, gauge
from barnabas_core.runtime.metrics.registry import Figure

ROUNDS = counter(
    "barnabas_operator_rounds_total", "Rounds that came to an end.", "resource", "outcome"
)
RESTARTS = counter(
    "barnabas_operator_restarts_total", "Pods that were let go.", "namespace", "cluster"
)
WRITES = counter("barnabas_operator_applied_total", "Objects of clusters that were written.")
LEADS = gauge("barnabas_operator_leads", "1 if this operator holds the lease.")
STABLE = gauge(
    "barnabas_operator_cluster_stable", "1 if a cluster is Stable.", "namespace", "cluster"
)
ROLLED = gauge(
    "barnabas_operator_rollout_updated_pods",
    "Pods with the newest revision.",
    "namespace",
    "cluster",
)
PODS = gauge("barnabas_operator_rollout_pods", "Pods that there should be.", "namespace", "cluster")
TOPICS = gauge(
    "barnabas_operator_topics",
    "KafkaTopics of a cluster, by whether they are Ready.",
    "namespace",
    "cluster",
    "ready",
)
OPERATOR_METRICS = (ROUNDS, RESTARTS, WRITES, LEADS, STABLE, ROLLED, PODS, TOPICS)

Key = tuple[str, str]


@dataclass(slots=True)
class Figures:
    """Counted as rounds go by; asked at every scrape."""

    rounds: dict[tuple[str, str], int] = field(default_factory=dict)
    restarts: dict[Key, int] = field(default_factory=dict)
    writes: int = 0
    leads: bool = False
    stable: dict[Key, bool] = field(default_factory=dict)
    pods: dict[Key, tuple[int, int]] = field(default_factory=dict)
    topics: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def count(self, resource: str, outcome: str) -> None:
        self.rounds[resource, outcome] = self.rounds.get((resource, outcome), 0) + 1

    def forget(self, key: Key) -> None:
        for kept in (self.restarts, self.stable, self.pods, self.topics):
            kept.pop(key, None)

    def __call__(self) -> Iterable[Figure]:
        yield Figure(WRITES, (), self.writes)
        yield Figure(LEADS, (), float(self.leads))
        for labels, count in list(self.rounds.items()):
            yield Figure(ROUNDS, labels, count)
        for key, count in list(self.restarts.items()):
            yield Figure(RESTARTS, key, count)
        for key, is_stable in list(self.stable.items()):
            yield Figure(STABLE, key, float(is_stable))
        for key, (updated, total) in list(self.pods.items()):
            yield Figure(ROLLED, key, updated)
            yield Figure(PODS, key, total)
        for key, (ready, total) in list(self.topics.items()):
            yield Figure(TOPICS, (*key, "true"), ready)
            yield Figure(TOPICS, (*key, "false"), total - ready)
