"""ControllerRegistration (key 70), decided v0 (KIP-919): where admin clients reach a controller."""

from barnabas_controller.managers.brokers.announced import (
    announced_endpoints,
    announced_features,
)
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.cluster_image import ClusterDelta
from barnabas_core.metadata.feature import is_record_supported
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.controller_registration_request import (
    ControllerRegistrationRequest,
)
from barnabas_core.wire.messages.controller_registration_response import (
    ControllerRegistrationResponse,
)
from barnabas_core.wire.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)


def decide_controller_registration(
    view: View, request: ControllerRegistrationRequest, context: Context
) -> Result[ControllerRegistrationResponse]:
    if not is_record_supported("RegisterControllerRecord", view.image.metadata_level):
        message = "The current MetadataVersion is too old to support controller registrations."
        return Result(
            (),
            ControllerRegistrationResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message
            ),
        )
    record = _record(request)
    # A controller asks until it finds itself in the metadata: what is there is not written again.
    records = [] if _is_same(view.image, record) else [record]
    return Result(records, ControllerRegistrationResponse(error_message=None))


def _record(request: ControllerRegistrationRequest) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=announced_endpoints(request, ControllerEndpoint),
        features=announced_features(request, ControllerFeature),
    )


def _is_same(image: Image, record: RegisterControllerRecord) -> bool:
    delta = ClusterDelta(image.cluster)
    delta.replay_register_controller(record)
    controllers = delta.apply().controllers
    return controllers[record.controller_id] == image.cluster.controllers.get(record.controller_id)
