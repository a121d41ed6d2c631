"""UnregisterBroker."""

from dataclasses import replace

from barnabas_controller.managers.brokers.unregistration import decide_unregister_broker
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from tests.support.broker_life import heartbeat, register, start
from tests.support.controller_lab import SETTINGS, ControllerLab


def test_a_broker_that_is_not_there_is_not_unregistered() -> None:
    lab = ControllerLab()

    answer = lab.decide(decide_unregister_broker, UnregisterBrokerRequest(broker_id=5))

    assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert answer.error_message == "Broker ID 5 is not currently registered"


def test_a_live_broker_can_be_unregistered_and_finds_its_epoch_stale() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    start(lab, 2)
    lab.create_topic("t", {0: [1, 2]})

    answer = lab.decide(decide_unregister_broker, UnregisterBrokerRequest(broker_id=1))

    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert list(lab.image.cluster.brokers) == [2]
    assert (lab.partition("t").leader, lab.partition("t").isr) == (2, (2,))
    assert lab.partition("t").replicas == (1, 2)
    assert 1 not in lab.liveness.sessions
    assert heartbeat(lab, 1, epoch=epoch).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_an_unregistered_broker_may_register_again_with_a_new_epoch() -> None:
    lab = ControllerLab()
    epoch = start(lab, 1)
    lab.decide(decide_unregister_broker, UnregisterBrokerRequest(broker_id=1))

    answer = register(lab, 1)

    assert answer.error_code == ErrorCode.NONE
    assert answer.broker_epoch > epoch
    assert lab.image.cluster.brokers[1].is_fenced


def test_what_is_too_much_for_one_batch_is_refused_and_changes_nothing() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=3))
    start(lab, 1)
    start(lab, 2)
    lab.create_topic("t", {number: [1, 2] for number in range(3)})

    answer = lab.decide(decide_unregister_broker, UnregisterBrokerRequest(broker_id=1))

    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert lab.records == []
    assert 1 in lab.liveness.sessions
