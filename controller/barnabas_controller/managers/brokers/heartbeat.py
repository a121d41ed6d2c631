"""BrokerHeartbeat (key 63), decided v0-v2.

v1 offline log directories (KIP-858); v2 cordoned log directories (KIP-1066).

A heartbeat keeps the session, and asks for a state. Fenced: leads nothing, is in no new ISR. A
broker is unfenced once its feed has shown it its own registration. A broker that leads partitions
shuts down in two steps: leadership moves and its registration says so, then it may go when the
feeds of all active brokers have passed that change, so that nobody follows it any more.
"""

from enum import Enum, auto

from barnabas_controller.managers.brokers.registration_change import (
    fenced,
    in_controlled_shutdown,
    knows_cordoned_dirs,
    unfenced,
    view_after,
    with_cordoned_dirs,
    with_log_dirs,
)
from barnabas_controller.managers.partitions.broker_changes import (
    records_for_controlled_shutdown,
    records_for_fencing,
    records_for_offline_dirs,
    records_for_unfencing,
)
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.cluster_image import BrokerImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from barnabas_core.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from barnabas_core.wire.schema import Message


class BrokerState(Enum):
    FENCED = auto()
    UNFENCED = auto()
    CONTROLLED_SHUTDOWN = auto()
    SHUTDOWN_NOW = auto()

    @property
    def is_fenced(self) -> bool:
        return self in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)


def decide_broker_heartbeat(
    view: View, request: BrokerHeartbeatRequest, context: Context
) -> Result[BrokerHeartbeatResponse]:
    broker = view.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Result((), BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    caught_up = request.current_metadata_offset >= view.liveness.registration_offset(
        broker.id, broker.epoch
    )
    before = state_of(broker)
    after = _next_state(view, broker, request, caught_up=caught_up)
    records = [] if before is after else _records_for(view, broker, after)
    records += _directory_records(view_after(view, records), broker, request)
    _touch(view, request, after, len(records))
    return Result(
        records,
        BrokerHeartbeatResponse(
            is_caught_up=caught_up,
            is_fenced=after.is_fenced,
            should_shut_down=after is BrokerState.SHUTDOWN_NOW,
        ),
    )


def state_of(broker: BrokerImage) -> BrokerState:
    if broker.is_fenced:
        return BrokerState.FENCED
    if broker.in_controlled_shutdown:
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.UNFENCED


def _next_state(
    view: View, broker: BrokerImage, request: BrokerHeartbeatRequest, *, caught_up: bool
) -> BrokerState:
    match state_of(broker):
        case BrokerState.FENCED:
            return _after_fenced(request, caught_up=caught_up)
        case BrokerState.UNFENCED:
            return _after_unfenced(view, request)
        case _:
            return _after_controlled_shutdown(view, broker.id)


def _after_fenced(request: BrokerHeartbeatRequest, *, caught_up: bool) -> BrokerState:
    if request.want_shut_down:
        return BrokerState.SHUTDOWN_NOW
    if request.want_fence or not caught_up:
        return BrokerState.FENCED
    return BrokerState.UNFENCED


def _after_unfenced(view: View, request: BrokerHeartbeatRequest) -> BrokerState:
    if request.want_fence:
        return BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
    if not request.want_shut_down:
        return BrokerState.UNFENCED
    if _leads(view, request.broker_id):
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.SHUTDOWN_NOW


def _after_controlled_shutdown(view: View, broker_id: int) -> BrokerState:
    active = (one.id for one in view.image.cluster.brokers.values() if one.is_active)
    if _leads(view, broker_id) or not view.liveness.may_shut_down(broker_id, active):
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.SHUTDOWN_NOW


def _leads(view: View, broker_id: int) -> bool:
    for topic_id, number in view.replicas.partitions_of(broker_id):
        partition = view.image.topics.partition(topic_id, number)
        if partition is not None and partition.leader == broker_id:
            return True
    return False


def _records_for(view: View, broker: BrokerImage, state: BrokerState) -> list[Message]:
    match state:
        case BrokerState.UNFENCED:
            return [unfenced(broker), *records_for_unfencing(view, broker.id)]
        case BrokerState.CONTROLLED_SHUTDOWN:
            changes = records_for_controlled_shutdown(view, broker.id)
            return [in_controlled_shutdown(broker), *changes]
        case _ if broker.is_fenced:
            return []
        case _:
            return [*records_for_fencing(view, broker.id), fenced(broker)]


def _directory_records(
    view: View, broker: BrokerImage, request: BrokerHeartbeatRequest
) -> list[Message]:
    """`view` is after what else the heartbeat brought."""
    records: list[Message] = []
    lost = [one for one in broker.log_dirs if one in request.offline_log_dirs]
    if lost:
        records += records_for_offline_dirs(view, broker.id, lost)
        if left := [one for one in broker.log_dirs if one not in lost]:
            records.append(with_log_dirs(broker, left))
    if request.cordoned_log_dirs is not None and knows_cordoned_dirs(view.image):
        cordoned = sorted(dict.fromkeys(request.cordoned_log_dirs))
        if tuple(cordoned) != broker.cordoned_log_dirs:
            records.append(with_cordoned_dirs(broker, cordoned))
    return records


def _touch(
    view: View, request: BrokerHeartbeatRequest, state: BrokerState, record_count: int
) -> None:
    """The one place where a heartbeat changes soft state."""
    broker_id, liveness = request.broker_id, view.liveness
    if state is BrokerState.SHUTDOWN_NOW:
        # It will not be heard of again, and its next incarnation need not wait for a session.
        liveness.forget(broker_id)
        return
    liveness.heard(
        broker_id, request.broker_epoch, view.monotonic_ms, request.current_metadata_offset
    )
    if state is BrokerState.CONTROLLED_SHUTDOWN:
        liveness.began_shutdown(broker_id, view.next_offset + record_count - 1)
