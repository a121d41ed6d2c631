"""What a generated message says about itself: the rows from which its codec is compiled.

Every struct is a slotted dataclass with the fields of all versions and a `FIELDS` tuple, one row
per field in wire order. A message adds its version range, the first flexible version and, where
it has one, its key (api key or record type).
"""

from collections.abc import Sized
from typing import ClassVar, NamedTuple, TypeAlias

from barnabas_core.wire.error import UnknownVersion

Buffer: TypeAlias = bytes | bytearray | memoryview
Tags: TypeAlias = tuple[tuple[int, bytes], ...]
# A `records` value is anything that knows its length in bytes, such as a range of a file.
Part: TypeAlias = Sized

ZERO_UUID = bytes(16)
ALL_VERSIONS_LAST = 32767
NEVER_FLEXIBLE = 32768


class Field(NamedTuple):
    """One field of a struct; `default` None means null."""

    name: str
    type: str
    first: int
    last: int
    default: object
    struct: "StructType | None" = None
    nullable: tuple[int, int] | None = None
    tag: int | None = None
    ignorable: bool = False
    compact: bool = True

    @property
    def element(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    def is_in(self, version: int) -> bool:
        return self.first <= version <= self.last

    def is_nullable(self, version: int) -> bool:
        return self.nullable is not None and self.nullable[0] <= version <= self.nullable[1]


class Struct:
    """A group of fields, nested in a message or the message itself."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _names(self))

    __hash__ = None  # type: ignore[assignment]  # its fields may change

    def __repr__(self) -> str:
        """Only what is not the default: a message has the fields of all versions."""
        plain = type(self)()
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in _names(self)
            if getattr(self, name) != getattr(plain, name)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _names(struct: Struct) -> list[str]:
    return [*(field.name for field in struct.FIELDS), "unknown_tags"]


StructType: TypeAlias = type[Struct]


class Message(Struct):
    """What is encoded and decoded as a whole."""

    __slots__ = ()
    KIND: ClassVar[str]
    KEY: ClassVar[int | None] = None
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int] = NEVER_FLEXIBLE
    # The highest version is still changing in Kafka and is not advertised.
    LATEST_IS_UNSTABLE: ClassVar[bool] = False


def has_records(struct: type[Struct]) -> bool:
    return any(
        field.type == "records" or (field.struct is not None and has_records(field.struct))
        for field in struct.FIELDS
    )


def check_version(message: type[Message], version: int) -> None:
    if not message.MIN_VERSION <= version <= message.MAX_VERSION:
        versions = f"{message.MIN_VERSION} to {message.MAX_VERSION}"
        raise UnknownVersion(f"{message.__name__} has versions {versions}, not {version}")
