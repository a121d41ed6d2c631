"""The linters' own rules, proven: a violation planted in a copy of the tree makes the tool fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE_ROOTS = ("core", "broker", "embedded")
TOOLS = Path(sys.executable).parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the product that a test may spoil."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in SOURCE_ROOTS:
        ignore = shutil.ignore_patterns("__pycache__", "messages")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    return tmp_path


def run_tool(tree: Path, *command: str) -> tuple[int, str]:
    # The copy comes before the editable install on the path.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(tree / r) for r in SOURCE_ROOTS)}
    done = subprocess.run(
        [TOOLS / command[0], *command[1:]],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def lint_imports(tree: Path) -> tuple[int, str]:
    return run_tool(tree, "lint-imports", "--no-logo", "--no-cache")


def banned(tree: Path, name: str, code: str) -> tuple[int, str]:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return run_tool(tree, "ruff", "check", "--no-cache", "--select", "TID251", name)


def test_the_layers_hold_as_the_code_stands(tree: Path) -> None:
    code, output = lint_imports(tree)

    assert code == 0, output


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("core/barnabas_core/planted.py", "barnabas_broker", "one process composes the roles"),
        ("broker/barnabas_broker/planted.py", "barnabas", "one process composes the roles"),
        ("core/barnabas_core/ports/planted.py", "barnabas_core.wire", "inside core, lower layers"),
        ("core/barnabas_core/wire/planted.py", "barnabas_core.records", "inside core, lower"),
        ("core/barnabas_core/records/planted.py", "barnabas_core.log", "inside core, lower layers"),
        ("core/barnabas_core/log/planted.py", "barnabas_core.runtime", "inside core, lower layers"),
        ("core/barnabas_core/runtime/planted.py", "barnabas_core.server", "inside core, lower"),
        ("core/barnabas_core/config/planted.py", "barnabas_core.ports", "inside core, lower"),
    ],
)
def test_an_import_against_the_layers_fails(
    tree: Path, module: str, imported: str, contract: str
) -> None:
    (tree / module).write_text(f"import {imported}\n")

    code, output = lint_imports(tree)

    assert code != 0
    assert f"{contract}" in next(line for line in output.splitlines() if "BROKEN" in line)


@pytest.mark.parametrize("package", ["config", "log", "ports", "records", "wire"])
@pytest.mark.parametrize("module", ["asyncio", "time"])
def test_decision_code_that_touches_the_world_fails(tree: Path, package: str, module: str) -> None:
    (tree / f"core/barnabas_core/{package}/planted.py").write_text(f"import {module}\n")

    code, output = lint_imports(tree)

    assert code != 0
    assert "decision code touches the world only through ports BROKEN" in output


@pytest.mark.parametrize("module", ["random", "socket", "structlog", "subprocess", "threading"])
def test_the_other_ways_out_into_the_world_fail_too(tree: Path, module: str) -> None:
    (tree / "core/barnabas_core/log/planted.py").write_text(f"from {module} import *\n")

    code, output = lint_imports(tree)

    assert code != 0
    assert f"barnabas_core.log.planted -> {module}" in output


def test_a_part_of_core_outside_the_layers_fails(tree: Path) -> None:
    package = tree / "core/barnabas_core/planted"
    package.mkdir()
    (package / "__init__.py").touch()

    code, output = lint_imports(tree)

    assert code != 0
    assert "barnabas_core.planted" in output


CALLS = [
    "import time\n\nNOW = time.time()\n",
    "from time import monotonic\n\nNOW = monotonic()\n",
    "import random\n\nDRAWN = random.random()\n",
    "from datetime import UTC, datetime\n\nNOW = datetime.now(UTC)\n",
    "import uuid\n\nNAME = uuid.uuid4()\n",
    "import os\n\nDRAWN = os.urandom(8)\n",
    "import asyncio\n\nGROUP = asyncio.TaskGroup()\n",
]


@pytest.mark.parametrize("code", CALLS)
def test_a_banned_call_in_the_product_fails(tmp_path: Path, code: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    for name in ("core/barnabas_core/server/planted.py", "broker/barnabas_broker/planted.py"):
        status, output = banned(tmp_path, name, code)
        assert status != 0
        assert "TID251" in output


@pytest.mark.parametrize("code", CALLS)
def test_the_runtime_and_the_tests_may_make_it(tmp_path: Path, code: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    for name in ("core/barnabas_core/runtime/planted.py", "tests/unit/test_planted.py"):
        status, output = banned(tmp_path, name, code)
        assert status == 0, output
