"""OpenAPI, as Kubernetes wants it in a CustomResourceDefinition, from described dataclasses."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any, get_args, get_origin

from barnabas_operator.api.facts import ConfigValue, Facts, FreeObject, Quantity, Rule, spelled
from barnabas_operator.api.owned_keys import refusal
from barnabas_operator.api.parsing import facts_of, hints_of, without_none

Schema = dict[str, Any]

_ANYTHING = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_BOUNDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "pattern": "pattern",
    "length_max": "maxLength",
}
_SCALARS = {str: "string", int: "integer", bool: "boolean", Quantity: "string"}


def object_schema(described_class: type) -> Schema:
    """Of a dataclass; its docstring is the description, its `RULES` the validations."""
    hints = hints_of(described_class)
    members = fields(described_class)
    required = [
        spelled(one.name)
        for one in members
        if one.default is MISSING and one.default_factory is MISSING
    ]
    schema: Schema = {
        "type": "object",
        "description": _one_line(described_class.__doc__ or ""),
        "properties": {
            spelled(one.name): _field_schema(hints[one.name], facts_of(one), one.default)
            for one in members
        },
    }
    if required:
        schema["required"] = required
    return schema | _validations(getattr(described_class, "RULES", ()))


def _field_schema(hint: Any, facts: Facts, default: Any) -> Schema:
    schema = _value_schema(without_none(hint), facts)
    if facts.description:
        schema["description"] = facts.description
    if facts.is_structural:
        schema["default"] = default
    own = _validations(facts.rules)
    if own:
        inherited = schema.get("x-kubernetes-validations", [])
        schema["x-kubernetes-validations"] = inherited + own["x-kubernetes-validations"]
    return schema


def _value_schema(hint: Any, facts: Facts) -> Schema:
    if hint == FreeObject:
        return {"type": "object", _ANYTHING: True}
    if _is_config(hint):
        return _config_schema(facts)
    if get_origin(hint) is tuple:
        return _list_schema(get_args(hint)[0], facts)
    if get_origin(hint) is not None:
        return _mapping_schema(get_args(hint)[1], facts)
    if is_dataclass(hint):
        return object_schema(hint)  # type: ignore[arg-type]
    return _scalar_schema(hint, facts)


def _is_config(hint: Any) -> bool:
    return get_origin(hint) is not None and get_args(hint)[-1] == ConfigValue


def _config_schema(facts: Facts) -> Schema:
    """Free but for names that are the operator's: these have a rule each that never holds."""
    schema: Schema = {"type": "object", _ANYTHING: True, "maxProperties": facts.items_max}
    if facts.keys_owned:
        schema["properties"] = {
            name: _INT_OR_STRING
            | {"nullable": True}
            | _validations((Rule("false", refusal(name) or ""),))
            for name in facts.keys_owned
        }
    return schema


def _list_schema(hint: Any, facts: Facts) -> Schema:
    schema: Schema = {"type": "array", "items": _value_schema(hint, facts.item or Facts(""))}
    if facts.items_min is not None:
        schema["minItems"] = facts.items_min
    schema["maxItems"] = facts.items_max
    if facts.key is not None:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = [facts.key]
    elif hint == FreeObject:
        schema["x-kubernetes-list-type"] = "atomic"
    else:
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _mapping_schema(hint: Any, facts: Facts) -> Schema:
    values = _INT_OR_STRING if hint is Quantity else _value_schema(hint, facts.item or Facts(""))
    return {"type": "object", "maxProperties": facts.items_max, "additionalProperties": values}


def _scalar_schema(hint: Any, facts: Facts) -> Schema:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": [one.value for one in hint]}
    schema: Schema = {"type": _SCALARS[hint]}
    if hint is int:
        schema["format"] = "int64"
    if facts.date_time:
        schema["format"] = "date-time"
    for name, theirs in _BOUNDS.items():
        if getattr(facts, name) is not None:
            schema[theirs] = getattr(facts, name)
    return schema


def _validations(rules: tuple[Rule, ...]) -> Schema:
    if not rules:
        return {}
    return {
        "x-kubernetes-validations": [
            {"rule": rule.expression, "message": rule.message} for rule in rules
        ]
    }


def rules_in(schema: Mapping[str, Any]) -> list[Rule]:
    """The rules of one place of a schema."""
    return [Rule(one["rule"], one["message"]) for one in schema.get("x-kubernetes-validations", ())]


def _one_line(text: str) -> str:
    return " ".join(text.split())
