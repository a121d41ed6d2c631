"""Leave to restart for coordinators: of each role somebody stays."""

from barnabas_controller.managers.coordinator_permits import (
    Candidate,
    CoordinatorDecision,
    CoordinatorPermits,
    decide_coordinator_restart,
)
from barnabas_controller.managers.coordinators import CoordinatorLiveness, Key
from barnabas_controller.managers.permits import PERMIT_MS
from barnabas_core.links.coordinator_message import Heartbeat, Registration, Standing
from barnabas_core.ports.link import Address, Identity

SESSION_MS = 9_000
HERE = Registration(Address("h", 1), None, ())
A: Key = ("group", 101)
B: Key = ("group", 102)


class Lab:
    """A controller that has been active for long enough to know everybody."""

    def __init__(self, *live: Key) -> None:
        self.now_ms = SESSION_MS
        self.liveness = CoordinatorLiveness(1, SESSION_MS, 0)
        self.permits = CoordinatorPermits()
        for key in live:
            self.hear(key)

    def hear(self, key: Key, incarnation: int = 1, *, is_draining: bool = False) -> Standing:
        identity = Identity("c", key[1], key[0], bytes([incarnation]) * 16)
        heartbeat = Heartbeat(0, is_draining)
        return self.liveness.register(identity, HERE, heartbeat, self.now_ms).standing

    def ask(self, key: Key, peer_count: int = 1) -> CoordinatorDecision:
        who = Candidate(key, peer_count)
        return decide_coordinator_restart(self.liveness, who, self.permits, self.now_ms)

    def grant(self, key: Key) -> None:
        self.permits.grant(self.liveness, key, self.now_ms)


def test_the_last_that_stays_is_not_let_go() -> None:
    lab = Lab(A, B)
    assert lab.ask(A).is_safe
    lab.grant(A)

    decision = lab.ask(B)

    assert decision.reasons == ("no group coordinator would be left",)
    assert decision.permitted == (101,)
    assert lab.ask(A).is_safe, "its own permit"


def test_of_three_two_may_be_away() -> None:
    third: Key = ("group", 103)
    lab = Lab(A, B, third)
    lab.grant(A)
    assert lab.ask(B, 2).is_safe
    lab.grant(B)

    assert not lab.ask(third, 2).is_safe


def test_whoever_drains_or_is_gone_counts_as_away() -> None:
    lab = Lab(A, B)
    lab.hear(B, is_draining=True)
    assert not lab.ask(A).is_safe

    lab.now_ms += SESSION_MS
    lab.hear(A)

    assert lab.ask(A).reasons == ("no group coordinator would be left",)


def test_the_only_one_of_its_role_goes() -> None:
    lab = Lab(A, ("share", 7))

    assert lab.ask(A, peer_count=0).is_safe


def test_others_that_live_count_even_if_the_operator_does_not_know_them() -> None:
    lab = Lab(A, B)
    lab.grant(B)

    assert not lab.ask(A, peer_count=0).is_safe


def test_other_roles_do_not_count() -> None:
    lab = Lab(A, ("share", 7), ("share", 8))
    lab.grant(("share", 7))

    decision = lab.ask(A)

    assert not decision.is_safe
    assert decision.permitted == ()


def test_one_that_is_not_registered_may_go() -> None:
    """It serves nobody, and may be what a new revision is to mend."""
    lab = Lab(A)
    lab.grant(A)

    assert lab.ask(B).is_safe


def test_a_permit_ends_when_its_coordinator_has_registered_anew() -> None:
    lab = Lab(A, B)
    lab.grant(A)
    lab.hear(A, is_draining=True)
    assert not lab.ask(B).is_safe
    identity = Identity("c", 101, "group", bytes([1]) * 16)
    lab.liveness.on_link_closed(identity, lab.now_ms, 2_000)
    assert not lab.ask(B).is_safe

    assert lab.hear(A, incarnation=2) is Standing.LIVE

    assert lab.ask(B).is_safe


def test_a_permit_ends_by_itself() -> None:
    lab = Lab(A, B)
    lab.grant(A)

    lab.now_ms += PERMIT_MS
    lab.hear(A)
    lab.hear(B)

    assert lab.ask(B).is_safe


def test_a_controller_that_may_miss_some_lets_nobody_go() -> None:
    lab = Lab()
    lab.now_ms = 0
    lab.liveness = CoordinatorLiveness(2, SESSION_MS, 0)
    lab.hear(A)
    lab.hear(B)

    assert lab.ask(A).reasons == ("a new controller has not heard of all coordinators yet",)


def test_a_role_that_nobody_knows_is_refused() -> None:
    assert lab_reasons("pool") == ("there is no coordinator of role pool",)


def lab_reasons(role: str) -> tuple[str, ...]:
    return Lab().ask((role, 1)).reasons
