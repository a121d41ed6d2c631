"""Every API that is served has a test of each version, and a module of tests of its own."""

import ast
from pathlib import Path

import pytest

from tests.support.api_tests import BROKER, CONTROLLER, ApiTests, served_apis

ROOT = Path(__file__).resolve().parents[3]
ALL = [*served_apis(BROKER).values(), *served_apis(CONTROLLER).values()]


def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.key.name)
def test_the_tests_of_an_api_exist(row: ApiTests) -> None:
    path, _, name = row.every_version.partition("::")

    assert name in functions_in(path)
    assert any(each.startswith("test_") for each in functions_in(row.own))
