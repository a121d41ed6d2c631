"""Python packages that are fetched when something needs them, beside `.venv`."""

import sys
from pathlib import Path

from barnabas_pipeline.fetch.cache import run


def pip_install(requirements: Path, target: Path, what: str) -> None:
    """The hash-pinned packages of a requirements file, into a directory of their own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--target", str(target), "-r", str(requirements)]
    run(command, what)
