"""What the operator asks of a running cluster, and of nothing else.

`Unavailable` is an operating failure: nobody answered, or not in time; it is asked again.
`Refused` is an answer: the same question will get it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from barnabas_operator.plan.actions import Action, Restart
from barnabas_operator.plan.observed import (
    BrokerState,
    NodeState,
    PartitionState,
    QuorumState,
    Standing,
)
from barnabas_operator.plan.topic_state import TopicAction, TopicState


class Unavailable(Exception):
    """It may have been carried out, or not."""


class Refused(Exception):
    """The cluster says no, and why."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The committed image, as far as plans depend on it."""

    quorum: QuorumState
    brokers: Mapping[int, BrokerState]
    topics: Mapping[str, TopicState]
    dynamic_config: Mapping[str, str]
    features: Mapping[str, int]
    min_isr: Mapping[str, int] = field(default_factory=dict)
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    lags: Mapping[int, int] = field(default_factory=dict)
    """Of voters: records that they do not have yet."""

    @property
    def partitions(self) -> tuple[PartitionState, ...]:
        return tuple(one for topic in self.topics.values() for one in topic.partitions)


@dataclass(frozen=True, slots=True)
class PermitAnswer:
    lasts_ms: int
    """0: there is none."""
    reasons: tuple[str, ...] = ()


class ClusterPort(Protocol):
    async def view(self) -> ClusterView: ...

    async def standing(self, node: NodeState) -> Standing | None:
        """What the node says of itself; None if it does not answer."""

    async def permit(self, restart: Restart) -> PermitAnswer: ...

    async def carry_out(self, action: Action) -> None: ...

    async def carry_out_topics(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        """In few requests. Topics for which one was refused, with the reason."""

    async def close(self) -> None: ...


class SilentCluster:
    """One that is there, and not yet able to answer."""

    async def view(self) -> ClusterView:
        raise Unavailable("the cluster has not started yet")

    async def standing(self, node: NodeState) -> Standing | None:
        return None

    async def permit(self, restart: Restart) -> PermitAnswer:
        raise Unavailable("the cluster has not started yet")

    async def carry_out(self, action: Action) -> None:
        raise Unavailable("the cluster has not started yet")

    async def carry_out_topics(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        raise Unavailable("the cluster has not started yet")

    async def close(self) -> None:
        """There is nothing to close."""
