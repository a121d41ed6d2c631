"""The apis of this package."""

from typing import Final

from barnabas_controller.managers.api import Api
from barnabas_controller.managers.brokers.controller_registration import (
    decide_controller_registration,
)
from barnabas_controller.managers.brokers.heartbeat import decide_broker_heartbeat
from barnabas_controller.managers.brokers.registration import decide_broker_registration
from barnabas_controller.managers.brokers.unregistration import decide_unregister_broker
from barnabas_core.wire.api import ApiKey

APIS: Final = (
    Api(ApiKey.BROKER_REGISTRATION, decide_broker_registration, cluster_action=True),
    Api(ApiKey.BROKER_HEARTBEAT, decide_broker_heartbeat, cluster_action=True),
    Api(ApiKey.UNREGISTER_BROKER, decide_unregister_broker),
    Api(ApiKey.CONTROLLER_REGISTRATION, decide_controller_registration, cluster_action=True),
)
