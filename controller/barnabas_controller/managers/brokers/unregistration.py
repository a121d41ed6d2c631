"""UnregisterBroker (key 64), decided v0.

Also of a broker that is alive, as in Kafka: it then finds its epoch stale.
"""

from typing import Final

from barnabas_controller.managers.partitions.broker_changes import records_for_unregistering
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from barnabas_core.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from barnabas_core.wire.messages.unregister_broker_response import UnregisterBrokerResponse

_TOO_LARGE: Final = "Unable to perform excessively large batch operation."


def decide_unregister_broker(
    view: View, request: UnregisterBrokerRequest, context: Context
) -> Result[UnregisterBrokerResponse]:
    broker = view.image.cluster.brokers.get(request.broker_id)
    if broker is None:
        message = f"Broker ID {request.broker_id} is not currently registered"
        return _refused(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
    records = [
        *records_for_unregistering(view, broker.id),
        UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
    ]
    if len(records) > view.settings.max_records_per_decision:
        return _refused(ErrorCode.POLICY_VIOLATION, _TOO_LARGE)
    view.liveness.forget(broker.id)
    return Result(records, UnregisterBrokerResponse(error_message=None))


def _refused(code: ErrorCode, message: str) -> Result[UnregisterBrokerResponse]:
    return Result((), UnregisterBrokerResponse(error_code=code, error_message=message))
