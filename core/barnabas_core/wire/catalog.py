"""Messages by name or by key, imported when asked for."""

from importlib import import_module
from itertools import pairwise

from barnabas_core.wire.error import UnknownMessage
from barnabas_core.wire.messages import INDEX
from barnabas_core.wire.schema import Message


def module_name(name: str) -> str:
    """`FetchRequest` is in `fetch_request`."""
    out = [name[0]]
    for before, letter in pairwise(name):
        out.append("_" + letter if letter.isupper() and not before.isupper() else letter)
    return "".join(out).lower()


def message_names() -> tuple[str, ...]:
    return tuple(name for name, *_ in INDEX)


def message_class(name: str) -> type[Message]:
    if all(name != known for known, *_ in INDEX):
        raise UnknownMessage(f"no message is called {name!r}")
    module = import_module(f"barnabas_core.wire.messages.{module_name(name)}")
    found: type[Message] = getattr(module, name)
    return found


def message_for_key(kind: str, key: int, coordinator: str | None = None) -> type[Message]:
    """The message of a kind (`metadata-record`, `coordinator-key`, ...) with this record type."""
    for name, its_kind, its_key, its_coordinator in INDEX:
        if (its_kind, its_key, its_coordinator) == (kind, key, coordinator):
            return message_class(name)
    owner = f"{coordinator} " if coordinator else ""
    raise UnknownMessage(f"no {owner}{kind} has key {key}")
