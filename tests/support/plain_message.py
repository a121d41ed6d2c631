"""Messages from plain values: dictionaries and lists, as JSON would have them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from barnabas_core.wire.schema import Struct

S = TypeVar("S", bound=Struct)


def from_plain(struct: type[S], values: Mapping[str, Any], version: int) -> S:
    """Fields that the version does not have are left out; one that no version has is a mistake."""
    fields = {field.name: field for field in struct.FIELDS}
    unknown = values.keys() - fields.keys()
    assert not unknown, f"{struct.__name__} has no {', '.join(sorted(unknown))}"
    made: dict[str, Any] = {}
    for name, value in values.items():
        field = fields[name]
        if not field.is_in(version):
            continue
        if field.struct is None or value is None:
            made[name] = value
        elif field.is_array:
            made[name] = [from_plain(field.struct, one, version) for one in value]
        else:
            made[name] = from_plain(field.struct, value, version)
    return struct(**made)
