"""DescribeAcls (key 29), served v1-v3: entries that match a filter, by resource pattern.

v2 flexible; v3 the resource type USER.
"""

from barnabas_controller.managers.acls.authorizer import has_authorizer
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.acl_filter import AclFilter
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_acls_request import DescribeAclsRequest
from barnabas_core.wire.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)


def decide_describe_acls(
    view: View, request: DescribeAclsRequest, context: Context
) -> Result[DescribeAclsResponse]:
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    return Result((), _answer(view, wanted))


def _answer(view: View, wanted: AclFilter) -> DescribeAclsResponse:
    if not has_authorizer(view):
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    fault = wanted.fault()
    if fault is not None:
        return DescribeAclsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=fault)
    by_pattern: dict[tuple[int, str, int], list[AclDescription]] = {}
    for acl in view.image.acls.values():
        if wanted.matches(acl):
            pattern = (acl.resource_type, acl.resource_name, acl.pattern_type)
            by_pattern.setdefault(pattern, []).append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
            )
    resources = [
        DescribeAclsResource(
            resource_type=resource_type, resource_name=name, pattern_type=pattern_type, acls=acls
        )
        for (resource_type, name, pattern_type), acls in by_pattern.items()
    ]
    return DescribeAclsResponse(resources=resources)
