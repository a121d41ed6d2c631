"""The entry point explains itself, and says what is wrong when Python is not what it needs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout that was never set up."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def make(tree: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        ["make", *arguments], cwd=tree, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def fake_python(directory: Path, version: str, script: str) -> Path:
    path = directory / "python"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo Python {version} && exit\n{script}\n')
    path.chmod(0o755)
    return path


def test_make_alone_lists_every_target(tree: Path) -> None:
    makefile = (tree / "Makefile").read_text()
    targets = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE))

    code, output = make(tree)

    assert code == 0
    for target in " ".join(targets).split():
        assert f"make {target} " in output


def test_an_old_python_is_named_and_nothing_is_made(tree: Path, tmp_path: Path) -> None:
    python = fake_python(tmp_path, "3.9.2", "exit 1")

    code, output = make(tree, "lint", f"PYTHON={python}")

    assert code != 0
    assert "needs Python 3.11 or newer" in output
    assert "Python 3.9.2" in output
    assert not (tree / ".venv").exists()


def test_a_missing_python_is_named(tree: Path) -> None:
    code, output = make(tree, "lint", "PYTHON=no-such-python")

    assert code != 0
    assert "needs Python 3.11 or newer, and 'no-such-python' is not there" in output


def test_a_python_without_venv_is_told_how_to_get_it(tree: Path, tmp_path: Path) -> None:
    python = fake_python(tmp_path, "3.11.2", 'case "$2" in *ensurepip*) exit 1;; esac')

    code, output = make(tree, "lint", f"PYTHON={python}")

    assert code != 0
    assert "apt install python3-venv" in output
