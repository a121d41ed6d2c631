"""Our messages as Kafka's tools print them: JSON by the names of its fields."""

import base64

from barnabas_core.wire.schema import Field, Struct


def shown_struct(struct: Struct, version: int) -> dict[str, object]:
    """Tagged fields that have their default are not shown, as they are not on disk either."""
    found: dict[str, object] = {}
    for each in struct.FIELDS:
        value = getattr(struct, each.name)
        default = [] if each.default == () else each.default
        if each.is_in(version) and (each.tag is None or value != default):
            found[camel(each.name)] = shown_value(each, value, version)
    return found


def shown_value(row: Field, value: object, version: int) -> object:
    if isinstance(value, list):
        return [shown_value(row, each, version) for each in value]
    if isinstance(value, Struct):
        return shown_struct(value, version)
    if isinstance(value, bytes):
        if row.element == "uuid":
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        return base64.b64encode(value).decode()
    return value


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
