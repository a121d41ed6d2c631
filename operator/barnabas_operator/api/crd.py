"""The CustomResourceDefinitions that Kubernetes is given."""

from typing import Any

from barnabas_operator.api.kinds import CATEGORY, GROUP, VERSION, Column, Resource
from barnabas_operator.api.schema import Schema, object_schema
from barnabas_operator.api.status import pending_conditions


def definition(resource: Resource) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.name},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.singular,
                "shortNames": [resource.short_name],
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(one) for one in resource.columns],
                    "schema": {"openAPIV3Schema": _schema(resource)},
                }
            ],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
    }
    return found | ({"priority": column.priority} if column.priority else {})


def _schema(resource: Resource) -> Schema:
    status = object_schema(resource.status)
    # Also of an object that no operator has seen yet: nobody may take silence for health.
    status["default"] = {"conditions": pending_conditions(resource.conditions)}
    return {
        "type": "object",
        "description": resource.description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": object_schema(resource.spec),
            "status": status,
        },
        "x-kubernetes-validations": [
            {"rule": rule.expression, "message": rule.message} for rule in resource.rules
        ],
    }
