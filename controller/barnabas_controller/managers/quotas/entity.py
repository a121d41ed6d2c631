"""Entities of quotas: which parts they may have, and how they are shown."""

from collections.abc import Sequence
from ipaddress import ip_address

from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_core.metadata.keyed_image import QuotaEntity
from barnabas_core.metadata.quota_filter import ENTITY_TYPES, IP
from barnabas_core.wire.messages.alter_client_quotas_request import EntityData


def entity_of(parts: Sequence[EntityData]) -> QuotaEntity:
    """As the image keys it. Only of parts that are not refused."""
    return tuple(sorted((part.entity_type, part.entity_name) for part in parts))


def shown_entity(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def refuse_entity(parts: Sequence[EntityData]) -> Refusal | None:
    if not parts:
        return invalid_request("Invalid empty client quota entity")
    types: dict[str, str | None] = {}
    for part in parts:
        if part.entity_type in types:
            return invalid_request(
                f"Invalid client quota entity, duplicate entity entry {part.entity_type}"
            )
        if part.entity_type not in ENTITY_TYPES:
            return invalid_request(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            return invalid_request(f"Empty {part.entity_type} not supported")
        types[part.entity_type] = part.entity_name
    return _refuse_ip(types) if IP in types else None


def _refuse_ip(types: dict[str, str | None]) -> Refusal | None:
    if len(types) > 1:
        return invalid_request(
            "Invalid quota entity combination, IP entity should not be combined with User or "
            "ClientId"
        )
    name = types[IP]
    if name is None or _is_address(name):
        return None
    return invalid_request(f"{name} is not a valid IP or resolvable host.")


def _is_address(text: str) -> bool:
    """Kafka also takes host names that it can resolve; a decision asks no name server."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
