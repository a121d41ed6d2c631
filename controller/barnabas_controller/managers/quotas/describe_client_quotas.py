"""DescribeClientQuotas (key 48), served v0-v1: the quotas of the entities that a filter means.

v1 flexible.
"""

from collections.abc import Sequence

from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.quota_filter import (
    DEFAULT,
    ENTITY_TYPES,
    EXACT,
    IP,
    SPECIFIED,
    QuotaFilter,
)
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from barnabas_core.wire.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

_MATCH_NAMES = {DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}


def decide_describe_client_quotas(
    view: View, request: DescribeClientQuotasRequest, context: Context
) -> Result[DescribeClientQuotasResponse]:
    refusal = _refuse(request.components)
    if refusal is not None:
        response = DescribeClientQuotasResponse(
            error_code=refusal.error, error_message=refusal.message, entries=None
        )
        return Result((), response)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in quotas.items()],
        )
        for entity, quotas in _filter(request).matching(view.image.quotas)
    ]
    return Result((), DescribeClientQuotasResponse(entries=entries))


def _filter(request: DescribeClientQuotasRequest) -> QuotaFilter:
    return QuotaFilter(
        {
            each.entity_type: each.match
            for each in request.components
            if each.match_type != SPECIFIED
        },
        [each.entity_type for each in request.components if each.match_type == SPECIFIED],
        request.strict,
    )


def _refuse(components: Sequence[ComponentData]) -> Refusal | None:
    types: list[str] = []
    for component in components:
        refusal = _refuse_type(component.entity_type, types) or _refuse_match(component)
        if refusal is not None:
            return refusal
        types.append(component.entity_type)
    if IP in types and len(types) > 1:
        return invalid_request(
            "Invalid entity filter component combination. IP filter component should not be "
            "used with user or clientId filter component."
        )
    return None


def _refuse_type(entity_type: str, before: Sequence[str]) -> Refusal | None:
    if not entity_type:
        return invalid_request("Invalid empty entity type.")
    if entity_type in before:
        return invalid_request(
            f"Entity type {entity_type} cannot appear more than once in the filter."
        )
    if entity_type not in ENTITY_TYPES:
        message = f"Unsupported entity type {entity_type}"
        return Refusal(ErrorCode.UNSUPPORTED_VERSION, message)
    return None


def _refuse_match(component: ComponentData) -> Refusal | None:
    if component.match_type == EXACT:
        if component.match is None:
            return invalid_request(
                "Request specified MATCH_TYPE_EXACT, but set match string to null."
            )
    elif component.match_type not in _MATCH_NAMES:
        return invalid_request(f"Unknown match type {component.match_type}")
    elif component.match is not None:
        name = _MATCH_NAMES[component.match_type]
        return invalid_request(f"Request specified {name}, but also specified a match string.")
    return None
