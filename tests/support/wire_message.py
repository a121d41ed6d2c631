"""Random messages: a strategy for any struct at any version, made from its rows."""

from hypothesis import strategies as st

from barnabas_core.wire.catalog import message_class, message_names
from barnabas_core.wire.schema import Field, Message, Struct, Tags

UUID_BYTES = 16
_FIRST_FREE_TAG = 100

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def message_versions() -> list[tuple[type[Message], int]]:
    """Every (message, version) that there is."""
    messages = [message_class(name) for name in message_names()]
    return [
        (message, version)
        for message in messages
        for version in range(message.MIN_VERSION, message.MAX_VERSION + 1)
    ]


def structs(struct: type[Struct], version: int, *, is_flexible: bool) -> st.SearchStrategy[Struct]:
    """Instances with values in the fields that the version has, unknown tags included."""
    values = {
        field.name: _values(field, version, is_flexible=is_flexible)
        for field in struct.FIELDS
        if field.is_in(version)
    }
    if is_flexible:
        values["unknown_tags"] = unknown_tags()
    return st.builds(struct, **values)


def messages(message: type[Message], version: int) -> st.SearchStrategy[Struct]:
    return structs(message, version, is_flexible=version >= message.FLEXIBLE_FROM)


def unknown_tags() -> st.SearchStrategy[Tags]:
    tags = st.integers(_FIRST_FREE_TAG, 2**31 - 1)
    found = st.dictionaries(tags, st.binary(max_size=200), max_size=2)
    return found.map(lambda tags: tuple(sorted(tags.items())))


def _values(field: Field, version: int, *, is_flexible: bool) -> st.SearchStrategy[object]:
    values = _element_values(field, version, is_flexible=is_flexible)
    if field.is_array:
        # More than 127 elements take a longer count, but only small elements are cheap enough.
        size = 2 if field.struct is not None else 150
        values = st.lists(values, max_size=size)
    return st.none() | values if field.is_nullable(version) else values


def _element_values(field: Field, version: int, *, is_flexible: bool) -> st.SearchStrategy[object]:
    if field.struct is not None:
        return structs(field.struct, version, is_flexible=is_flexible)
    if field.element in _INTEGER_BITS:
        half = 1 << _INTEGER_BITS[field.element] - 1
        return st.integers(-half, half - 1)
    return _SCALARS[field.element]


_SCALARS: dict[str, st.SearchStrategy[object]] = {
    "bool": st.booleans(),
    "bytes": st.binary(max_size=200),
    "float64": st.floats(allow_nan=False),
    "records": st.binary(max_size=200),
    "string": st.text(max_size=150),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uuid": st.binary(min_size=UUID_BYTES, max_size=UUID_BYTES),
}
