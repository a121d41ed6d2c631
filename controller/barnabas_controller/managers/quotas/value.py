"""What a quota may be, by the tables of the entities' kinds."""

import math

from barnabas_controller.managers.refusal import Refusal, invalid_request
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.number import INT16_MAX, INT32_MAX, INT64_MAX
from barnabas_core.config.property_type import PropertyType
from barnabas_core.metadata.keyed_image import QuotaEntity
from barnabas_core.metadata.quota_filter import IP

_WHOLE = {
    PropertyType.SHORT: (INT16_MAX, "a SHORT"),
    PropertyType.INT: (INT32_MAX, "an INT"),
    PropertyType.LONG: (INT64_MAX, "a LONG"),
}
_FRACTION_MAX = 1e-6


def refuse_value(entity: QuotaEntity, key: str, value: float) -> Refusal | None:
    kind = Kind.IP_QUOTA if entity[0][0] == IP else Kind.CLIENT_QUOTA
    prop = definitions(kind).get(key)
    if prop is None:
        return invalid_request(f"Invalid configuration key {key}")
    if not value > 0:  # nor is NaN, which Kafka lets pass
        return invalid_request(f"Quota {key} must be greater than 0")
    if prop.type not in _WHOLE:
        return None
    largest, shown = _WHOLE[prop.type]
    if value > largest:
        return invalid_request(f"Proposed value for {key} is too large for {shown}.")
    if math.fmod(value, 1.0) > _FRACTION_MAX:
        return invalid_request(f"{key} cannot be a fractional value.")
    return None
