"""What images are built from: wheels of the locks, for the image's Python."""

import hashlib
import platform
import shutil
import sys
from pathlib import Path

from barnabas_pipeline.fetch.cache import cached, run
from tools.kube.report import progress

TREE = Path(__file__).parents[2]
IMAGE_PYTHON = "3.11"


def locked_wheels(lock: str) -> Path:
    """Directory with the wheels of a requirements file, hashes checked."""
    requirements = TREE / "requirements" / lock
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    machine = platform.machine()

    def build(target: Path) -> None:
        progress(f"the wheels of requirements/{lock}")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(target)]
        command += ["--disable-pip-version-check", "--require-hashes", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", IMAGE_PYTHON]
        for generation in ("_2_28", "_2_17", "2014"):
            command += ["--platform", f"manylinux{generation}_{machine}"]
        run([*command, "-r", str(requirements)], f"requirements/{lock}")

    return cached(f"kube/wheels-{Path(lock).stem}-{machine}-{digest}", build)


def write_context(target: Path, lock: str, *, with_barnabas: bool) -> None:
    """`wheels/` below `target`, with what the lock names and, if asked, this tree's own."""
    wheels = target / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    shutil.copytree(locked_wheels(lock), wheels)
    if with_barnabas:
        shutil.copy(own_wheel(target.parent / "own"), wheels)


def own_wheel(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(TREE)]
    # Equal sources make an equal file, and docker then finds its layers again.
    run(command, "the wheel of this tree", SOURCE_DATE_EPOCH="1577836800")
    (wheel,) = directory.glob("barnabas-*.whl")
    return wheel
