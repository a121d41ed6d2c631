"""Requests that brokers and controllers of a `ControllerLab` send about themselves."""

from collections.abc import Sequence

from barnabas_controller.managers.brokers.heartbeat import decide_broker_heartbeat
from barnabas_controller.managers.brokers.registration import decide_broker_registration
from barnabas_core.metadata.node_features import local_features
from barnabas_core.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from barnabas_core.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from barnabas_core.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas_core.wire.messages.broker_registration_response import BrokerRegistrationResponse
from tests.support.controller_lab import ControllerLab, directory_id, incarnation_id


def registration_request(
    lab: ControllerLab, broker_id: int, incarnation: int = 0, **fields: object
) -> BrokerRegistrationRequest:
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=lab.settings.cluster_id,
        incarnation_id=incarnation_id(broker_id, incarnation),
        listeners=[Listener(name="PLAINTEXT", host=f"b{broker_id}", port=9092)],
        features=[Feature(*one) for one in local_features()],
        rack=None,
        log_dirs=[directory_id(broker_id)],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def register(
    lab: ControllerLab,
    broker_id: int,
    incarnation: int = 0,
    version: int | None = None,
    **fields: object,
) -> BrokerRegistrationResponse:
    request = registration_request(lab, broker_id, incarnation, **fields)
    return lab.decide(decide_broker_registration, request, version)


def heartbeat(
    lab: ControllerLab,
    broker_id: int,
    *,
    version: int | None = None,
    epoch: int | None = None,
    offset: int | None = None,
    want_fence: bool = False,
    want_shut_down: bool = False,
    offline: Sequence[bytes] = (),
    cordoned: Sequence[bytes] | None = None,
) -> BrokerHeartbeatResponse:
    """By default of the epoch that is registered, and of a feed that has everything."""
    request = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=lab.image.cluster.brokers[broker_id].epoch if epoch is None else epoch,
        current_metadata_offset=lab.next_offset - 1 if offset is None else offset,
        want_fence=want_fence,
        want_shut_down=want_shut_down,
        offline_log_dirs=list(offline),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )
    return lab.decide(decide_broker_heartbeat, request, version)


def start(lab: ControllerLab, broker_id: int, incarnation: int = 0, **fields: object) -> int:
    """Register and unfence; the broker epoch."""
    request = registration_request(lab, broker_id, incarnation, **fields)
    epoch = lab.decide(decide_broker_registration, request).broker_epoch
    answer = heartbeat(lab, broker_id)
    assert not answer.is_fenced
    return epoch
