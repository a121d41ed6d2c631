"""ControllerRegistration."""

from barnabas_controller.managers.brokers.controller_registration import (
    decide_controller_registration,
)
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.controller_registration_request import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)
from tests.support.controller_lab import ControllerLab, incarnation_id


def _request(incarnation: int = 0) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=3001,
        incarnation_id=incarnation_id(3001, incarnation),
        zk_migration_ready=True,
        listeners=[Listener("CONTROLLER", "c1", 9093, 1)],
        features=[Feature("metadata.version", 7, 30)],
    )


def test_a_controller_is_registered_as_it_says() -> None:
    lab = ControllerLab()

    answer = lab.decide(decide_controller_registration, _request())

    controller = lab.image.cluster.controllers[3001]
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert controller.listeners == (("CONTROLLER", "c1", 9093, 1),)
    assert controller.features == (("metadata.version", 7, 30),)


def test_what_is_registered_is_not_written_again() -> None:
    lab = ControllerLab()
    lab.decide(decide_controller_registration, _request())

    lab.decide(decide_controller_registration, _request())
    assert lab.records == []

    lab.decide(decide_controller_registration, _request(incarnation=1))
    assert lab.image.cluster.controllers[3001].incarnation_id == incarnation_id(3001, 1)


def test_controllers_do_not_register_before_3_7() -> None:
    lab = ControllerLab(metadata_level=14)

    answer = lab.decide(decide_controller_registration, _request())

    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.error_message is not None
    assert "too old" in answer.error_message
    assert lab.records == []
