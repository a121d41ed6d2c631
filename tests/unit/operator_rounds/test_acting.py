"""A pod is deleted with its permit, by its uid, by whoever leads; or not at all."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas_operator.health.cluster_port import PermitAnswer, SilentCluster, Unavailable
from barnabas_operator.kube.client import KubeError
from barnabas_operator.plan.actions import Action, ExpandClaim, Restart, SetDynamicConfig
from barnabas_operator.reconcile.act import Actor, Outcome
from tests.support.manual_clock import ManualClock

RESTART = Restart(1, "events-main-1", "uid-1", needs_permit=True)


@dataclass
class Deletions:
    """In the place of Kubernetes, as far as acting needs it."""

    done: list[tuple[str, str]] = field(default_factory=list)
    fails_with: KubeError | None = None

    async def delete(self, path: str, uid: str, *, timeout_s: float) -> bool:
        self.done.append((path, uid))
        return True

    async def merge(self, path: str, change: object) -> None:
        if self.fails_with is not None:
            raise self.fails_with


class Permitting(SilentCluster):
    def __init__(self, answer: PermitAnswer, on_asked: Callable[[], None] = lambda: None) -> None:
        self._answer = answer
        self._on_asked = on_asked
        self.asked: list[int] = []

    async def permit(self, restart: Restart) -> PermitAnswer:
        self.asked.append(restart.node_id)
        self._on_asked()
        return self._answer


def act(
    port: SilentCluster | None,
    *actions: Action,
    kube: Deletions | None = None,
    clock: ManualClock | None = None,
    is_leader: Callable[[], bool] = lambda: True,
) -> tuple[Deletions, Outcome]:
    kube = kube or Deletions()
    actor = Actor(kube, port, clock or ManualClock(), "space", is_leader)  # type: ignore[arg-type]
    return kube, asyncio.run(actor.carry_out(actions or (RESTART,)))


def test_a_permitted_pod_is_deleted_by_its_uid() -> None:
    kube, outcome = act(Permitting(PermitAnswer(60_000)))

    assert kube.done == [("/api/v1/namespaces/space/pods/events-main-1", "uid-1")]
    assert outcome.restarted == ["events-main-1"]


def test_without_a_permit_nothing_is_deleted_and_the_reason_is_told() -> None:
    kube, outcome = act(Permitting(PermitAnswer(0, ("6 partitions would be under min ISR",))))

    assert kube.done == []
    assert outcome.blocked_by == ["events-main-1: 6 partitions would be under min ISR"]


def test_with_nobody_to_ask_nothing_is_deleted() -> None:
    assert act(None)[0].done == []
    kube, outcome = act(SilentCluster())
    assert kube.done == []
    assert outcome.failures


def test_what_does_not_run_needs_no_permit() -> None:
    port = Permitting(PermitAnswer(0))
    dead = Restart(1, "events-main-1", "uid-1", needs_permit=False)

    kube, _ = act(port, dead)

    assert port.asked == []
    assert len(kube.done) == 1


def test_a_permit_that_took_too_long_to_come_is_not_used() -> None:
    clock = ManualClock()
    port = Permitting(PermitAnswer(60_000), lambda: clock.advance(50_000))

    assert act(port, clock=clock)[0].done == []


def test_who_lost_the_lease_meanwhile_deletes_nothing() -> None:
    leads = [True]
    port = Permitting(PermitAnswer(60_000), leads.clear)

    kube, outcome = act(port, is_leader=lambda: bool(leads))

    assert kube.done == []
    assert outcome.failures == ["another operator has taken over"]


def test_what_is_refused_and_what_failed_are_told_apart_and_the_rest_goes_on() -> None:
    kube = Deletions(fails_with=KubeError(403, "no expansion"))
    port = Permitting(PermitAnswer(60_000))

    _, outcome = act(port, ExpandClaim("data", 1), SetDynamicConfig({}), RESTART, kube=kube)

    assert outcome.refusals == ["expand claim: no expansion"]
    assert outcome.failures == ["set dynamic config: the cluster has not started yet"]
    assert outcome.restarted == ["events-main-1"]


def test_an_answer_that_got_lost_is_a_failure() -> None:
    class Broken(SilentCluster):
        async def permit(self, restart: Restart) -> PermitAnswer:
            raise Unavailable("link broken")

    kube, outcome = act(Broken())

    assert kube.done == []
    assert outcome.failures == ["restart: link broken"]
