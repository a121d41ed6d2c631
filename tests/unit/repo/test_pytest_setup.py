"""What pyproject.toml and conftest.py promise of every test run, tried on planted tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

HANGS = """
import time

def test_hangs():
    time.sleep(60)

def test_comes_after():
    assert True
"""
HANGS_WHERE_NO_SIGNAL_REACHES = """
import signal, threading

def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait(60)
"""
WARNS = """
import warnings

def test_warns():
    warnings.warn("old", DeprecationWarning)
"""
NEEDS_KCAT = """
def test_needs_kcat(kcat):
    assert kcat
"""
PROPERTY = """
from hypothesis import given, strategies as st

@given(st.integers())
def test_property(number):
    assert number < 1000
"""
SKIPS = """
import pytest

@pytest.mark.soak
def test_long():
    assert True

@pytest.mark.skip(reason="the moon is full")
def test_skipped():
    assert True

def test_runs():
    assert True
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with our settings and support code, and room for one planted test file."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("tests/conftest.py", "tests/support/external.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "tools/fetch", tmp_path / "tools/fetch")
    return tmp_path


def run_pytest(tree: Path, code: str, *options: str, **environment: str) -> tuple[int, str]:
    (tree / "tests/planted").mkdir()
    (tree / "tests/planted/test_planted.py").write_text(code)
    environment = {"BARNABAS_SOAK": "", "CI": "", "PYTHONPATH": ""} | environment
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=tree,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_hung_test_is_killed_with_its_stack_and_the_others_run(tree: Path) -> None:
    code, output = run_pytest(tree, HANGS, "-o", "timeout=1")

    assert code == 1
    assert "Timeout (>1.0s) from pytest-timeout" in output
    assert "time.sleep(60)" in output
    assert "1 failed, 1 passed" in output


def test_a_test_that_no_signal_reaches_ends_the_run_with_its_stack(tree: Path) -> None:
    settings = ("-o", "timeout=1", "-o", "faulthandler_timeout=2")

    code, output = run_pytest(tree, HANGS_WHERE_NO_SIGNAL_REACHES, *settings)

    assert code != 0
    assert "in test_hangs" in output


def test_a_warning_is_an_error(tree: Path) -> None:
    code, output = run_pytest(tree, WARNS)

    assert code == 1
    assert "DeprecationWarning: old" in output


def test_the_seed_of_the_order_is_printed_and_repeats_it(tree: Path) -> None:
    _, output = run_pytest(tree, SKIPS, "-p", "randomly", "--randomly-seed=17")

    assert "order: --randomly-seed=17" in output


def test_a_failed_property_prints_what_replays_it(tree: Path) -> None:
    code, output = run_pytest(tree, PROPERTY)

    assert code == 1
    assert "@reproduce_failure" in output


def test_the_summary_says_what_ran_and_what_was_left_out_and_why(tree: Path) -> None:
    code, output = run_pytest(tree, SKIPS)

    assert code == 0
    assert "1 passed, 2 skipped" in output
    assert "left out: 1 in tests/planted: the moon is full" in output
    assert "left out: 1 in tests/planted: long count: runs with `make soak`" in output


def test_soak_runs_what_was_left_out(tree: Path) -> None:
    code, output = run_pytest(tree, SKIPS, BARNABAS_SOAK="1")

    assert code == 0
    assert "2 passed, 1 skipped" in output
    assert "Hypothesis profile: soak" in output


@pytest.mark.parametrize(("ci", "expected"), [("", "1 skipped"), ("true", "1 error")])
def test_a_program_that_cannot_be_fetched_skips_at_home_and_fails_in_ci(
    tree: Path, tmp_path: Path, ci: str, expected: str
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()

    _, output = run_pytest(
        tree, NEEDS_KCAT, CI=ci, PATH=str(nothing), BARNABAS_CACHE=str(tmp_path / "cache")
    )

    assert expected in output
    assert "kcat is not installed, and without apt it cannot be fetched" in output
