"""What a value in a document can be. Shapes are data: readers and writers of docs walk them."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value; `parse` takes its text and says what is wanted with a `ValueError`."""

    name: str
    parse: Callable[[str], object]
    json_type: str = "string"


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Shape"
    at_least: int = 0


@dataclass(frozen=True, slots=True)
class MapOf:
    """Any keys, values alike."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    shape: "Shape"
    doc: str
    required: bool = False
    default: object = None


@dataclass(frozen=True, slots=True)
class Record:
    """Known keys; of `exactly_one`, when given, one has to be there and no other."""

    fields: tuple[Field, ...]
    exactly_one: tuple[str, ...] = field(default=())

    def named(self, name: str) -> Field | None:
        return next((each for each in self.fields if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Either:
    """A word, or a mapping that says more."""

    word: Choice
    record: Record


Shape = Scalar | Choice | ListOf | MapOf | Record | Either
