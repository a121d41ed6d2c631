"""BrokerRegistration (key 62), decided v0-v4.

v1 ZooKeeper migration (always refused); v2 log directories; v3 the epoch of the last clean shutdown
(KIP-966); v4 fixes features of minimum 0 on the wire.

A new incarnation gets a new broker epoch, the offset of its registration, and starts fenced. What
the one before it was in sync with counts no more: if it did not end cleanly, the broker leaves ELRs
too. The same incarnation, asking again, changes its registration and keeps epoch and state.
"""

from barnabas_controller.managers.brokers.announced import (
    announced_endpoints,
    announced_features,
)
from barnabas_controller.managers.brokers.registration_change import (
    knows_cordoned_dirs,
    knows_directories,
)
from barnabas_controller.managers.brokers.registration_check import refusal
from barnabas_controller.managers.partitions.broker_changes import (
    records_for_fencing,
    records_for_unclean_shutdown,
)
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.cluster_image import BrokerImage, ClusterDelta
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_registration_request import BrokerRegistrationRequest
from barnabas_core.wire.messages.broker_registration_response import BrokerRegistrationResponse
from barnabas_core.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from barnabas_core.wire.schema import Message


def decide_broker_registration(
    view: View, request: BrokerRegistrationRequest, context: Context
) -> Result[BrokerRegistrationResponse]:
    error = refusal(view, request)
    if error is not ErrorCode.NONE:
        return Result((), BrokerRegistrationResponse(error_code=error))
    existing = view.image.cluster.brokers.get(request.broker_id)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        return _amend(view, request, existing)
    return _register(view, request, existing)


def _register(
    view: View, request: BrokerRegistrationRequest, existing: BrokerImage | None
) -> Result[BrokerRegistrationResponse]:
    # The registration comes first, so that its offset is the epoch.
    epoch = view.next_offset
    record = _record(view.image, request, epoch)
    clean = existing is not None and existing.epoch == request.previous_broker_epoch
    records = [record, *_records_of_the_end_before(view, request.broker_id, clean=clean)]
    _touch(view, request.broker_id, epoch, len(records))
    return Result(records, BrokerRegistrationResponse(broker_epoch=epoch))


def _amend(
    view: View, request: BrokerRegistrationRequest, existing: BrokerImage
) -> Result[BrokerRegistrationResponse]:
    record = _record(view.image, request, existing.epoch)
    record.fenced = existing.is_fenced
    record.in_controlled_shutdown = existing.in_controlled_shutdown
    if knows_cordoned_dirs(view.image):
        record.cordoned_log_dirs = [
            one for one in existing.cordoned_log_dirs if one in record.log_dirs
        ]
    records = [] if _is_same(view.image, record, existing) else [record]
    _touch(view, request.broker_id, existing.epoch, len(records))
    return Result(records, BrokerRegistrationResponse(broker_epoch=existing.epoch))


def _records_of_the_end_before(view: View, broker_id: int, *, clean: bool) -> list[Message]:
    """Asked even of an id that is not registered: replicas may have been left in its name."""
    if clean:
        return records_for_fencing(view, broker_id)
    return records_for_unclean_shutdown(view, broker_id)


def _touch(view: View, broker_id: int, epoch: int, record_count: int) -> None:
    """The one place where a registration changes soft state."""
    if record_count:
        last_offset = view.next_offset + record_count - 1
    else:
        last_offset = view.liveness.registration_offset(broker_id, epoch)
    view.liveness.registered(broker_id, epoch, view.monotonic_ms, last_offset)


def _record(image: Image, request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=announced_endpoints(request, BrokerEndpoint),
        features=announced_features(request, BrokerFeature),
        rack=request.rack,
        fenced=True,
        log_dirs=list(request.log_dirs) if knows_directories(image) else [],
    )


def _is_same(image: Image, record: RegisterBrokerRecord, existing: BrokerImage) -> bool:
    delta = ClusterDelta(image.cluster)
    delta.replay_register_broker(record)
    return delta.apply().brokers[existing.id] == existing
