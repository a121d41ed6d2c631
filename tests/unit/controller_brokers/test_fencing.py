"""Brokers that fall silent."""

from dataclasses import replace

from barnabas_controller.managers.brokers.fencing import decide_fence_stale_brokers
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from tests.support.broker_life import heartbeat, register, start
from tests.support.controller_lab import SETTINGS, ControllerLab


def test_nobody_is_fenced_before_the_session_is_over() -> None:
    lab = ControllerLab()
    start(lab, 1)
    lab.clock.advance(8_999)

    assert lab.run(decide_fence_stale_brokers) is None
    assert lab.records == []


def test_a_silent_broker_is_fenced_and_its_partitions_move() -> None:
    lab = ControllerLab()
    start(lab, 1)
    start(lab, 2)
    lab.create_topic("t", {0: [1, 2]})
    lab.clock.advance(5_000)
    heartbeat(lab, 2)
    lab.clock.advance(4_000)

    assert lab.run(decide_fence_stale_brokers) == 1
    assert lab.image.cluster.brokers[1].is_fenced
    assert lab.partition("t").leader == 2
    assert lab.run(decide_fence_stale_brokers) is None


def test_each_decision_fences_one_the_longest_silent_first() -> None:
    lab = ControllerLab()
    lab.create_topic("t", {0: [1, 2, 3]}, isr=[1])
    for broker_id in (3, 1, 2):
        start(lab, broker_id)
        lab.clock.advance(100)
    lab.clock.advance(9_000)

    assert [lab.run(decide_fence_stale_brokers) for _ in range(4)] == [3, 1, 2, None]


def test_a_session_that_protects_nobody_is_dropped_without_a_record() -> None:
    lab = ControllerLab()
    register(lab, 1)
    lab.liveness.heard(9, 5, lab.clock.monotonic_ms(), 0)
    lab.clock.advance(9_000)

    assert lab.run(decide_fence_stale_brokers) is None

    assert lab.records == []
    assert lab.liveness.sessions == {}


def test_a_session_of_another_epoch_fences_nobody() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    lab.liveness.forget(1)
    lab.liveness.heard(1, epoch - 1, lab.clock.monotonic_ms(), 0)
    lab.clock.advance(9_000)

    assert lab.run(decide_fence_stale_brokers) is None
    assert not lab.image.cluster.brokers[1].is_fenced


def test_a_broker_of_many_partitions_is_fenced_over_several_decisions() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=4))
    start(lab, 1)
    start(lab, 2)
    lab.create_topic("t", {number: [1, 2] for number in range(10)})
    lab.clock.advance(5_000)
    heartbeat(lab, 2)
    lab.clock.advance(4_000)

    counts = []
    while lab.run(decide_fence_stale_brokers) == 1:
        counts.append(len(lab.records))

    assert counts == [4, 4, 3]
    assert isinstance(lab.records, list)
    assert lab.image.cluster.brokers[1].is_fenced
    assert all(lab.partition("t", number).leader == 2 for number in range(10))


def test_fencing_is_the_last_record() -> None:
    lab = ControllerLab()
    start(lab, 1)
    start(lab, 2)
    lab.create_topic("t", {0: [1, 2]})
    lab.clock.advance(9_000)

    lab.run(decide_fence_stale_brokers)

    last = lab.records[-1]
    assert isinstance(last, BrokerRegistrationChangeRecord)
    assert (last.broker_id, last.fenced) == (1, 1)
