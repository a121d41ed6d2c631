"""Does a broker speak for its current registration?"""

from barnabas_controller.managers.view import View
from barnabas_core.wire.error_code import ErrorCode


def check_broker_epoch(view: View, broker_id: int, broker_epoch: int) -> ErrorCode | None:
    """The error for a broker that is not registered, or was registered anew since."""
    broker = view.image.cluster.brokers.get(broker_id)
    is_current = broker is not None and broker.epoch == broker_epoch
    return None if is_current else ErrorCode.STALE_BROKER_EPOCH
