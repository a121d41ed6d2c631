"""The documentation of the resources, from the same dataclasses as their definitions."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from typing import Any, get_args, get_origin

from barnabas_operator.api.facts import ConfigValue, FreeObject, Quantity, Rule, spelled
from barnabas_operator.api.kinds import Resource
from barnabas_operator.api.owned_keys import CLUSTER_KEYS
from barnabas_operator.api.parsing import facts_of, hints_of, without_none

_WORDS = {str: "string", int: "integer", bool: "boolean", Quantity: "quantity"}


def resource_reference(resource: Resource) -> str:
    """Markdown: the spec and the status by parts, the conditions, and what is refused."""
    lines = [f"## {resource.kind}", "", resource.description, ""]
    lines += [f"Short name `{resource.short_name}`; `kubectl get barnabas` lists all kinds.", ""]
    lines += ["### Conditions", "", "| type | what it says |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in resource.conditions.items()]
    lines.append("")
    for described_class, path in (
        *_parts(resource.spec, "spec"),
        *_parts(resource.status, "status"),
    ):
        lines += _part(described_class, path)
    refused = [*_refused(resource.spec), *resource.rules]
    lines += ["### What is refused", "", "| rule | is told |", "|---|---|"]
    lines += [f"| `{_cell(rule.expression)}` | {_cell(rule.message)} |" for rule in refused]
    return "\n".join([*lines, ""])


def owned_keys_reference() -> str:
    lines = ["## Properties that are the operator's", "", "| property | instead |", "|---|---|"]
    lines += [f"| `{name}` | {instead} |" for name, instead in CLUSTER_KEYS.items()]
    return "\n".join([*lines, ""])


def _parts(described_class: type, path: str) -> Iterator[tuple[type, str]]:
    """Each dataclass once, where it is met first."""
    found: dict[type, str] = {}
    _collect(described_class, path, found)
    yield from found.items()


def _collect(described_class: type, path: str, found: dict[type, str]) -> None:
    if described_class in found:
        return
    found[described_class] = path
    for member in _members(described_class):
        hint = without_none(hints_of(described_class)[member.name])
        inner, suffix = (get_args(hint)[0], "[]") if get_origin(hint) is tuple else (hint, "")
        if is_dataclass(inner):
            _collect(inner, f"{path}.{spelled(member.name)}{suffix}", found)  # type: ignore[arg-type]


def _part(described_class: type, path: str) -> list[str]:
    hints = hints_of(described_class)
    lines = [f"### `{path}`", "", " ".join((described_class.__doc__ or "").split()), ""]
    lines += ["| field | type | |", "|---|---|---|"]
    for member in _members(described_class):
        required = member.default is MISSING and member.default_factory is MISSING
        mark = " **required**" if required else ""
        facts = facts_of(member)
        lines.append(
            f"| `{spelled(member.name)}` | {_type(without_none(hints[member.name]))}"
            f" | {_cell(facts.description)}{mark} |"
        )
    return [*lines, ""]


def _members(described_class: type) -> tuple[Field[Any], ...]:
    return fields(described_class)


def _type(hint: Any) -> str:
    if hint == FreeObject:
        return "object"
    if get_origin(hint) is tuple:
        return f"list of {_type(get_args(hint)[0])}"
    if get_origin(hint) is not None:
        value = get_args(hint)[1]
        return "map of anything" if value == ConfigValue else f"map of {_type(value)}"
    if is_dataclass(hint):
        return "object"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return ", ".join(f"`{one.value}`" for one in hint)
    return _WORDS[hint]


def _refused(described_class: type) -> Iterator[Rule]:
    seen: set[Rule] = set()
    for part, _ in _parts(described_class, ""):
        own: tuple[Rule, ...] = getattr(part, "RULES", ())
        for rule in (*own, *(rule for one in _members(part) for rule in facts_of(one).rules)):
            if rule not in seen:
                seen.add(rule)
                yield rule


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
