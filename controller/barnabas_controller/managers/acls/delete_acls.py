"""DeleteAcls (key 31), served v1-v3: entries that match a filter go, and are told.

v2 flexible; v3 the resource type USER. Each filter is answered by itself and matches what there was
before the request, so an entry may be told twice; it is removed once.
"""

from barnabas_controller.managers.acls.authorizer import has_authorizer
from barnabas_controller.managers.acls.create_acls import NO_AUTHORIZER
from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.acl_filter import AclFilter
from barnabas_core.metadata.keyed_image import Acl
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from barnabas_core.wire.messages.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from barnabas_core.wire.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)


def decide_delete_acls(
    view: View, request: DeleteAclsRequest, context: Context
) -> Result[DeleteAclsResponse]:
    removed: dict[bytes, None] = {}
    results = []
    for asked in request.filters:
        matching = _matching(view, _filter(asked), removed)
        if not isinstance(matching, Refusal):
            removed.update(dict.fromkeys(matching))
        results.append(_result(matching))
    records = [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in removed]
    return Result(records, DeleteAclsResponse(filter_results=results))


def _filter(asked: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


def _matching(
    view: View, wanted: AclFilter, removed: dict[bytes, None]
) -> dict[bytes, Acl] | Refusal:
    if not has_authorizer(view):
        return NO_AUTHORIZER
    fault = wanted.fault()
    if fault is not None:
        return invalid_request(fault)
    matching = {acl_id: acl for acl_id, acl in view.image.acls.items() if wanted.matches(acl)}
    limit = view.settings.max_records_per_decision
    if len(removed.keys() | matching.keys()) > limit:
        message = f"Cannot remove more than {limit} acls in a single delete operation."
        return Refusal(ErrorCode.POLICY_VIOLATION, message)
    return matching


def _result(matching: dict[bytes, Acl] | Refusal) -> DeleteAclsFilterResult:
    if isinstance(matching, Refusal):
        return DeleteAclsFilterResult(error_code=matching.error, error_message=matching.message)
    told = [
        DeleteAclsMatchingAcl(
            error_message=None,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
        for acl in matching.values()
    ]
    return DeleteAclsFilterResult(error_message=None, matching_acls=told)
