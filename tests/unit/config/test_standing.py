"""What becomes of each property: none is forgotten, and none is ignored in silence."""

import ast
from functools import lru_cache
from pathlib import Path

import pytest

from barnabas_core.config.definition import Kind, Property, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.config.own_property import own_properties
from barnabas_core.config.property_type import PropertyType, format_value
from barnabas_core.config.server_properties import NodeProperties, node_properties
from barnabas_core.config.standing import (
    KNOWN_CLASSES,
    OWN,
    PropertyStanding,
    Standing,
    check_served,
    later_warnings,
    node_standings,
    refuse_unserved,
    standings,
)
from tools import gen_configuration_doc

ROOT = Path(__file__).resolve().parents[3]
TABLES = {
    **{
        kind.value: definitions(kind)
        for kind in (Kind.BROKER, Kind.BROKER_DYNAMIC_ONLY, Kind.TOPIC)
    },
    OWN: own_properties(),
    Kind.GROUP.value: definitions(Kind.GROUP),
}
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.voters": "3@c3:9093",
    "listeners": "PLAINTEXT://b1:9092",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}


def node(**changes: str) -> NodeProperties:
    given = BROKER | {name.replace("_", "."): text for name, text in changes.items()}
    return node_properties(given, {}, lambda _: None)


@lru_cache
def names_in(path: Path) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in ast.walk(tree) if isinstance(each, functions))


def test_every_property_has_one_row_and_every_row_a_property() -> None:
    rows = [(row.table, row.name) for row in standings()]
    known = [(table, name) for table, properties in TABLES.items() for name in properties]

    assert rows == known


def test_every_row_has_a_test_or_a_reason() -> None:
    bare = [row.name for row in standings() if not row.reason and not row.tests]
    unproven = [r.name for r in standings() if r.standing is Standing.HONOURED and not r.tests]
    unexplained = [
        row.name for row in standings() if row.standing is not Standing.HONOURED and not row.reason
    ]

    assert (bare, unproven, unexplained) == ([], [], [])


def test_every_test_that_a_row_names_exists() -> None:
    missing = []
    for row in standings():
        for test in row.tests:
            path, _, name = test.partition("::")
            if not (ROOT / path).is_file() or name not in names_in(ROOT / path):
                missing.append((row.name, test))

    assert missing == []


def test_generating_the_document_again_changes_nothing() -> None:
    """Otherwise: `make gen`."""
    assert gen_configuration_doc.DOC.read_text(encoding="utf-8") == gen_configuration_doc.text()


def test_the_check_of_tests_can_fail() -> None:
    assert "test_the_check_of_tests_can_fail" in names_in(Path(__file__))
    assert "test_that_nobody_wrote" not in names_in(Path(__file__))


def other_value(prop: Property) -> str:
    """A text that the property takes and that is not its default."""
    if prop.type is PropertyType.BOOLEAN:
        return "false" if prop.default else "true"
    choices = ("SSL", "x.y.Mine") if prop.name.endswith("protocol") else ("x.y.Mine",)
    return choices[0]


def refused_rows() -> list[PropertyStanding]:
    return [row for row in node_standings().values() if row.standing is Standing.REFUSED]


@pytest.mark.parametrize("row", refused_rows(), ids=lambda row: row.name)
def test_what_must_not_be_ignored_is_refused(row: PropertyStanding) -> None:
    prop = definitions(Kind.BROKER)[row.name]

    with pytest.raises(ConfigError, match=row.name):
        refuse_unserved({row.name: other_value(prop)})
    with pytest.raises(ConfigError, match=row.name):
        refuse_unserved({f"listener.name.outside.{row.name}": other_value(prop)})


@pytest.mark.parametrize("row", refused_rows(), ids=lambda row: row.name)
def test_what_is_refused_may_be_set_to_its_default(row: PropertyStanding) -> None:
    default = format_value(definitions(Kind.BROKER)[row.name].default or "")

    if default:
        refuse_unserved({row.name: default})


def test_the_authorizer_is_known_by_kafkas_name_and_refused_until_it_is_enforced() -> None:
    with pytest.raises(ConfigError, match="access is not checked against ACLs yet"):
        refuse_unserved({"authorizer.class.name": STANDARD_AUTHORIZER})
    with pytest.raises(ConfigError, match=r"no class com\.example\.Mine is known here"):
        refuse_unserved({"authorizer.class.name": "com.example.Mine"})


@pytest.mark.parametrize("name", KNOWN_CLASSES)
def test_a_class_that_is_not_kafkas_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: no class org\.example\.Other is known here"):
        refuse_unserved({name: "org.example.Other"})


def test_what_is_honoured_or_has_no_effect_is_not_refused() -> None:
    for prop in definitions(Kind.BROKER).values():
        row = node_standings()[prop.name]
        if prop.default_text and row.standing in (Standing.HONOURED, Standing.NO_EFFECT):
            refuse_unserved({prop.name: prop.default_text})
            assert later_warnings({prop.name: prop.default_text}) == []


def test_each_feature_that_comes_later_is_told_of_once() -> None:
    properties = {
        "group.share.max.size": "5",
        "group.share.assignors": "other",
        "quota.window.num": "3",
        "group.share.max.share.sessions": "2000",  # the default
    }

    assert later_warnings(properties) == [
        "quota.window.num: no effect yet: quotas of clients are not built",
        "group.share.assignors, group.share.max.size: no effect yet: share groups are not built",
    ]


def test_a_node_carries_these_warnings() -> None:
    assert node().warnings == ()
    assert node(quota_window_num="5").warnings == (
        "quota.window.num: no effect yet: quotas of clients are not built",
    )


def test_no_secret_is_told_in_a_warning() -> None:
    warnings = later_warnings({"listener.name.outside.ssl.key.password": "hunter2"})

    assert len(warnings) == 1
    assert warnings[0].startswith("listener.name.outside.ssl.key.password: no effect yet")
    assert "hunter2" not in warnings[0]


def test_a_listener_that_should_be_secure_is_not_opened_without() -> None:
    check_served(node())
    secured = node(
        listeners="OUTSIDE://b1:9092",
        inter_broker_listener_name="OUTSIDE",
        listener_security_protocol_map="OUTSIDE:SASL_SSL,CONTROLLER:PLAINTEXT",
    )

    with pytest.raises(ConfigError, match="OUTSIDE://b1:9092 is SASL_SSL, which is not served yet"):
        check_served(secured)


def test_a_node_with_a_refused_property_may_be_formatted_but_not_served() -> None:
    closed = node(authorizer_class_name=STANDARD_AUTHORIZER)

    with pytest.raises(ConfigError, match=r"authorizer\.class\.name must not be set"):
        check_served(closed)
