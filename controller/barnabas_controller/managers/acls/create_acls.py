"""CreateAcls (key 30), served v1-v3: entries stored, each under an id of its own.

v2 flexible; v3 the resource type USER. An entry that exists already is a success and no record.
Which operations make sense on a resource is not looked at, as in Kafka: its tools do that.
"""

from barnabas_controller.managers.acls.authorizer import has_authorizer
from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.log.directories.directory import new_directory_id as random_uuid
from barnabas_core.metadata.acl_filter import (
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    LITERAL,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    PREFIXED,
    RESOURCE_TYPES,
    UNKNOWN,
)
from barnabas_core.metadata.keyed_image import Acl
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.create_acls_request import AclCreation, CreateAclsRequest
from barnabas_core.wire.messages.create_acls_response import AclCreationResult, CreateAclsResponse

NO_AUTHORIZER = Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def decide_create_acls(
    view: View, request: CreateAclsRequest, context: Context
) -> Result[CreateAclsResponse]:
    existing = set(view.image.acls.values())
    records: list[AccessControlEntryRecord] = []
    results = []
    for creation in request.creations:
        acl = _acl(creation)
        refusal = _refuse(view, acl, len(records))
        if refusal is None and acl not in existing:
            existing.add(acl)
            records.append(_record(random_uuid(view.rng), acl))
        results.append(_result(refusal))
    return Result(records, CreateAclsResponse(results=results))


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _refuse(view: View, acl: Acl, count: int) -> Refusal | None:
    if not has_authorizer(view):
        return NO_AUTHORIZER
    message = _name_fault(acl) or _type_fault(acl) or _principal_fault(acl.principal)
    if message is not None:
        return invalid_request(message)
    if count >= view.settings.max_records_per_decision:
        message = "Unable to perform excessively large batch operation."
        return Refusal(ErrorCode.POLICY_VIOLATION, message)
    return None


def _name_fault(acl: Acl) -> str | None:
    if acl.resource_type == CLUSTER and acl.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    return None if acl.resource_name else "Invalid empty resource name"


def _type_fault(acl: Acl) -> str | None:
    if acl.resource_type in (UNKNOWN, ANY) or acl.resource_type not in RESOURCE_TYPES:
        return f"Invalid resourceType {RESOURCE_TYPES.get(acl.resource_type, 'UNKNOWN')}"
    if acl.pattern_type not in (LITERAL, PREFIXED):
        return f"Invalid patternType {PATTERN_TYPES.get(acl.pattern_type, 'UNKNOWN')}"
    if acl.operation in (UNKNOWN, ANY) or acl.operation not in OPERATIONS:
        return f"Invalid operation {OPERATIONS.get(acl.operation, 'UNKNOWN')}"
    if acl.permission_type in (UNKNOWN, ANY) or acl.permission_type not in PERMISSION_TYPES:
        return f"Invalid permissionType {PERMISSION_TYPES.get(acl.permission_type, 'UNKNOWN')}"
    return None


def _principal_fault(principal: str) -> str | None:
    if ":" in principal:
        return None
    return (
        f"Could not parse principal from `{principal}` (no colon is present separating the "
        f"principal type from the principal name)"
    )


def _record(acl_id: bytes, acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _result(refusal: Refusal | None) -> AclCreationResult:
    if refusal is None:
        return AclCreationResult()
    return AclCreationResult(error_code=refusal.error, error_message=refusal.message)
