"""How the types of the wire are laid out, and the fewest bytes that a value can take.

The fewest bytes of an element bound the length of an array before a single one is read.
"""

from struct import calcsize

from barnabas_core.wire.schema import Field, Struct

# The wire is big endian; `bool` is a byte that is not zero.
FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
SIZES = {kind: calcsize(">" + code) for kind, code in FORMATS.items()}
# Of lengths that are not compact; a compact one is a varint.
LENGTH_FORMATS = {"string": "h", "bytes": "i", "records": "i", "array": "i"}


def element_min_bytes(field: Field, version: int, *, is_flexible: bool) -> int:
    """At least 1, even of a struct that has no fields: nothing may be repeated for nothing."""
    if field.struct is None:
        return _scalar_min_bytes(field.element, is_compact=is_flexible)
    return max(1, _struct_min_bytes(field.struct, version, is_flexible=is_flexible))


def _struct_min_bytes(struct: type[Struct], version: int, *, is_flexible: bool) -> int:
    tag_count_bytes = int(is_flexible)
    return tag_count_bytes + sum(
        _field_min_bytes(field, version, is_flexible=is_flexible)
        for field in struct.FIELDS
        if field.is_in(version) and field.tag is None
    )


def _field_min_bytes(field: Field, version: int, *, is_flexible: bool) -> int:
    if field.is_array:
        return _scalar_min_bytes("array", is_compact=is_flexible)
    if field.struct is None:
        return _scalar_min_bytes(field.type, is_compact=is_flexible and field.compact)
    if field.is_nullable(version):
        return 1
    return _struct_min_bytes(field.struct, version, is_flexible=is_flexible)


def _scalar_min_bytes(kind: str, *, is_compact: bool) -> int:
    if kind in SIZES:
        return SIZES[kind]
    return 1 if is_compact else calcsize(">" + LENGTH_FORMATS[kind])
