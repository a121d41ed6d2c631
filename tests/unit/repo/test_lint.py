"""The linters' own rules, proven: a violation planted in a copy of the tree makes the tool fail."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE_ROOTS = ("core", "broker", "embedded")
TOOLS = Path(sys.executable).parent


LAYER_VIOLATIONS = [
    ("core/barnabas_core/wire/planted_role.py", "barnabas_broker", "one process composes"),
    ("broker/barnabas_broker/planted.py", "barnabas", "one process composes"),
    ("core/barnabas_core/ports/planted_wire.py", "barnabas_core.wire", "inside core"),
    ("core/barnabas_core/wire/planted_records.py", "barnabas_core.records", "inside core"),
    ("core/barnabas_core/records/planted_log.py", "barnabas_core.log", "inside core"),
    ("core/barnabas_core/log/planted_runtime.py", "barnabas_core.runtime", "inside core"),
    ("core/barnabas_core/runtime/planted_server.py", "barnabas_core.server", "inside core"),
    ("core/barnabas_core/config/planted_ports.py", "barnabas_core.ports", "inside core"),
]
WORLD_VIOLATIONS = [
    *((package, "asyncio") for package in ("config", "log", "ports", "records", "wire")),
    *((package, "time") for package in ("config", "log", "ports", "records", "wire")),
    *(("log", module) for module in ("random", "socket", "structlog", "subprocess", "threading")),
]


@pytest.fixture(scope="module")
def clean_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tree(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, str]]:
    """Every violation at once (a graph takes a second to build): what is said, by contract."""
    tree = copy_tree(tmp_path_factory.mktemp("planted"))
    for name, imported, _ in LAYER_VIOLATIONS:
        (tree / name).write_text(f"import {imported}\n")
    for package, module in WORLD_VIOLATIONS:
        name = f"core/barnabas_core/{package}/planted_{module}.py"
        (tree / name).write_text(f"import {module}\n")
    code, output = lint_imports(tree)
    return code, by_contract(output)


def copy_tree(target: Path) -> Path:
    """The product without the generated messages, which import nothing but the schema."""
    shutil.copy(ROOT / "pyproject.toml", target)
    for name in SOURCE_ROOTS:
        ignore = shutil.ignore_patterns("__pycache__", "messages")
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    return target


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


def by_contract(output: str) -> dict[str, str]:
    """What is reported below the name of each broken contract."""
    _, _, report = output.partition("Broken contracts")
    sections: dict[str, str] = {}
    name = ""
    for line, underline in pairwise([*report.splitlines(), ""]):
        if line and underline == "-" * len(line):
            name = line
        elif name:
            sections[name] = f"{sections.get(name, '')}{line}\n"
    return sections


def banned(tree: Path, name: str, code: str) -> tuple[int, str]:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return run_tool(tree, "ruff", "check", "--no-cache", "--select", "TID251", name)


def test_the_layers_hold_as_the_code_stands(clean_tree: Path) -> None:
    code, output = lint_imports(clean_tree)

    assert code == 0, output


@pytest.mark.parametrize(("module", "imported", "contract"), LAYER_VIOLATIONS)
def test_an_import_against_the_layers_fails(
    planted: tuple[int, dict[str, str]], module: str, imported: str, contract: str
) -> None:
    code, sections = planted

    assert code != 0
    said = next(text for name, text in sections.items() if name.startswith(contract))
    importer = module.partition("/")[2].removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {imported}" in said


@pytest.mark.parametrize(("package", "module"), WORLD_VIOLATIONS)
def test_decision_code_that_touches_the_world_fails(
    planted: tuple[int, dict[str, str]], package: str, module: str
) -> None:
    code, sections = planted

    assert code != 0
    said = sections["decision code touches the world only through ports"]
    assert f"barnabas_core.{package}.planted_{module} -> {module}" in said


def test_a_part_of_core_outside_the_layers_fails(tmp_path: Path) -> None:
    package = copy_tree(tmp_path) / "core/barnabas_core/planted"
    package.mkdir()
    (package / "__init__.py").touch()

    code, output = lint_imports(tmp_path)

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
def test_a_banned_call_fails_in_the_product_and_not_in_the_runtime_or_the_tests(
    tmp_path: Path, code: str
) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    for name in ("core/barnabas_core/server/planted.py", "broker/barnabas_broker/planted.py"):
        status, output = banned(tmp_path, name, code)
        assert status != 0
        assert "TID251" in output
    for name in ("core/barnabas_core/runtime/planted.py", "tests/unit/test_planted.py"):
        status, output = banned(tmp_path, name, code)
        assert status == 0, output
