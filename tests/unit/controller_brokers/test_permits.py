"""Leave to restart: one node after the other."""

import pytest

from barnabas_controller.managers.drain import decide_drain
from barnabas_controller.managers.permits import (
    PERMIT_MS,
    Permits,
    VoterHealth,
    decide_restart,
)
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.register_controller_record import RegisterControllerRecord
from tests.support.broker_life import start
from tests.support.controller_lab import ControllerLab

NO_VOTERS = VoterHealth((), ())
THREE = VoterHealth((1, 2, 3), (1, 2, 3))


def _lab() -> ControllerLab:
    lab = ControllerLab()
    lab.set_config(4, "", "min.insync.replicas", "2")
    for broker_id in (1, 2, 3):
        start(lab, broker_id)
    lab.create_topic("t", {0: [1, 2, 3], 1: [2, 3, 1]})
    return lab


def _permits(lab: ControllerLab) -> Permits:
    return Permits(lab.clock.monotonic_ms() - PERMIT_MS)


def test_a_second_broker_is_not_let_go_while_the_first_may_be_down() -> None:
    lab = _lab()
    permits = _permits(lab)
    assert decide_restart(lab.view(), 1, NO_VOTERS, permits).is_safe
    permits.grant(lab.view(), 1)

    decision = decide_restart(lab.view(), 2, NO_VOTERS, permits)

    assert decision.reasons == ("2 partitions would be under min ISR",)
    assert decision.permitted == (1,)
    assert decide_restart(lab.view(), 1, NO_VOTERS, permits).is_safe, "its own permit"


def test_a_permit_ends_by_itself() -> None:
    lab = _lab()
    permits = _permits(lab)
    permits.grant(lab.view(), 1)

    lab.clock.advance(PERMIT_MS)

    assert decide_restart(lab.view(), 2, NO_VOTERS, permits).is_safe


def test_a_permit_ends_when_its_broker_is_back() -> None:
    lab = _lab()
    permits = _permits(lab)
    permits.grant(lab.view(), 1)

    lab.liveness.forget(1)
    start(lab, 1, incarnation=1)

    assert dict(permits.current(lab.view())) == {}


def test_a_permit_of_a_controller_ends_when_it_has_registered_anew() -> None:
    lab = _lab()
    lab.apply([RegisterControllerRecord(controller_id=7, incarnation_id=b"1" * 16)])
    permits = _permits(lab)
    permits.grant(lab.view(), 7)
    assert list(permits.current(lab.view())) == [7]

    lab.apply([RegisterControllerRecord(controller_id=7, incarnation_id=b"2" * 16)])

    assert list(permits.current(lab.view())) == []


@pytest.mark.parametrize(
    ("voters", "is_safe"),
    [
        (THREE, True),
        (VoterHealth((1, 2, 3), (1, 2)), False),
        (VoterHealth((1, 2, 3), (2, 3)), True),
        (VoterHealth((1,), (1,)), True),
        (VoterHealth((1, 2), (1, 2)), True),
    ],
)
def test_a_controller_goes_only_if_a_majority_stays(voters: VoterHealth, is_safe: bool) -> None:
    lab = ControllerLab()

    assert decide_restart(lab.view(), 1, voters, _permits(lab)).is_safe is is_safe


def test_a_permitted_controller_counts_as_down() -> None:
    lab = ControllerLab()
    permits = _permits(lab)
    permits.grant(lab.view(), 2)

    assert not decide_restart(lab.view(), 1, THREE, permits).is_safe


def test_a_node_that_is_not_there_gets_no_leave() -> None:
    lab = _lab()

    assert decide_restart(lab.view(), 9, THREE, _permits(lab)).reasons == ("there is no node 9",)


def test_a_new_controller_waits_for_what_the_last_one_permitted() -> None:
    lab = _lab()
    permits = Permits(lab.clock.monotonic_ms())
    assert permits.wait_ms(lab.clock.monotonic_ms()) == PERMIT_MS

    lab.clock.advance(PERMIT_MS)

    assert permits.wait_ms(lab.clock.monotonic_ms()) == 0


def test_the_loss_of_any_voter_is_survived_or_not() -> None:
    assert THREE.survives_loss
    assert not VoterHealth((1, 2, 3), (1, 2)).survives_loss
    assert VoterHealth((1, 2, 3), (1, 2)).is_healthy
    assert not VoterHealth((1, 2, 3), (1,)).is_healthy


def test_a_drained_broker_leads_nothing_that_others_can_and_stays_in_sync() -> None:
    lab = _lab()
    lab.create_topic("alone", {0: [1]})

    result = decide_drain(lab.view(), 1)
    lab.apply(result.records)

    assert lab.partition("t", 0).leader == 2
    assert lab.partition("t", 0).isr == (1, 2, 3)
    assert lab.partition("t", 1).leader == 2
    assert lab.partition("alone", 0).leader == 1
    assert result.response.moved_count == 1
    assert [key.topic_id for key in result.response.left] == [lab.topic_id("alone")]


def test_a_drain_elects_nobody_who_is_out_of_sync() -> None:
    lab = _lab()
    lab.apply([PartitionChangeRecord(0, lab.topic_id("t"), isr=[1])])

    result = decide_drain(lab.view(), 1)

    assert result.records == []
    assert len(result.response.left) == 1
