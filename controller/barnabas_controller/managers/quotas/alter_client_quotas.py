"""AlterClientQuotas (key 49), served v0-v1: quotas set or removed, entity by entity.

v1 flexible. What an entity is decides which quotas it may have.
"""

from collections.abc import Mapping, Sequence

from barnabas_controller.managers.quotas.entity import entity_of, refuse_entity, shown_entity
from barnabas_controller.managers.quotas.value import refuse_value
from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.keyed_image import QuotaEntity
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    OpData,
)
from barnabas_core.wire.messages.alter_client_quotas_request import EntryData as AskedEntry
from barnabas_core.wire.messages.alter_client_quotas_response import (
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
)
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord
from barnabas_core.wire.messages.client_quota_record import EntityData as RecordEntity


def decide_alter_client_quotas(
    view: View, request: AlterClientQuotasRequest, context: Context
) -> Result[AlterClientQuotasResponse]:
    records: list[ClientQuotaRecord] = []
    entries = []
    asked_before: set[QuotaEntity] = set()
    for asked in request.entries:
        outcome = _decide_entry(view, asked, asked_before)
        if not isinstance(outcome, Refusal):
            asked_before.add(entity_of(asked.entity))
            outcome = _refuse_too_many(view, len(records) + len(outcome)) or outcome
        if not isinstance(outcome, Refusal):
            records += outcome
        entries.append(_answer(asked, outcome))
    return Result(
        () if request.validate_only else records, AlterClientQuotasResponse(entries=entries)
    )


def _decide_entry(
    view: View, asked: AskedEntry, asked_before: set[QuotaEntity]
) -> list[ClientQuotaRecord] | Refusal:
    refusal = refuse_entity(asked.entity)
    if refusal is not None:
        return refusal
    entity = entity_of(asked.entity)
    if entity in asked_before:
        return invalid_request(f"Ignoring duplicate entity {shown_entity(entity)}")
    return _records(entity, asked.ops, view.image.quotas.get(entity, {}))


def _records(
    entity: QuotaEntity, ops: Sequence[OpData], before: Mapping[str, float]
) -> list[ClientQuotaRecord] | Refusal:
    records = []
    seen: set[str] = set()
    for op in ops:
        if op.key in seen:
            shown = shown_entity(entity)
            message = f"Duplicate quota key {op.key} not updating quota for this entity {shown}"
            return invalid_request(message)
        seen.add(op.key)
        refusal = None if op.remove else refuse_value(entity, op.key, op.value)
        if refusal is not None:
            return refusal
        changes = op.key in before if op.remove else before.get(op.key) != op.value
        if changes:
            records.append(_record(entity, op))
    return records


def _record(entity: QuotaEntity, op: OpData) -> ClientQuotaRecord:
    return ClientQuotaRecord(
        entity=[RecordEntity(entity_type=kind, entity_name=name) for kind, name in entity],
        key=op.key,
        value=0.0 if op.remove else op.value,
        remove=op.remove,
    )


def _refuse_too_many(view: View, count: int) -> Refusal | None:
    if count <= view.settings.max_records_per_decision:
        return None
    message = "Unable to perform excessively large batch operation."
    return Refusal(ErrorCode.POLICY_VIOLATION, message)


def _answer(asked: AskedEntry, outcome: list[ClientQuotaRecord] | Refusal) -> EntryData:
    entity = [
        EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
        for part in asked.entity
    ]
    if isinstance(outcome, Refusal):
        return EntryData(error_code=outcome.error, error_message=outcome.message, entity=entity)
    return EntryData(error_code=ErrorCode.NONE, error_message=None, entity=entity)
