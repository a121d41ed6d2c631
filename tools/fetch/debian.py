"""Debian's packages with all that they need, unpacked below a directory: no root is needed."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from barnabas_pipeline.fetch.cache import CannotFetch, run

# Part of every system that has apt; a second copy of these could clash with the loader's.
ALREADY_THERE = frozenset({"libc6", "libgcc-s1", "libcrypt1", "debconf", "perl-base", "dpkg"})
CLOSURE = [
    "--recurse",
    *(f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces")),
    "--no-enhances",
]


def unpack_packages(target: Path, packages: Iterable[str], what: str) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise CannotFetch(
            f"{what} is not installed, and without apt it cannot be fetched: install it"
        )
    state = target / "apt"
    for directory in ("lists/partial", "archives/partial"):
        (state / directory).mkdir(parents=True)
    # Lists of our own, so that neither root nor an earlier `apt-get update` is needed.
    own = ["-o", f"Dir::State::lists={state / 'lists'}", "-o", f"Dir::Cache={state}"]
    own += ["-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"]
    run(["apt-get", *own, "-q", "update"], what)
    listed = run(["apt-cache", *own, "depends", *CLOSURE, *packages], what).splitlines()
    names = {name for name in listed if name and name[0].isalnum()} - ALREADY_THERE
    run(["apt-get", *own, "-q", "download", *sorted(names)], what, directory=state)
    for package in sorted(state.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(target)], what)
    shutil.rmtree(state)


def library_path(root: Path) -> str:
    """LD_LIBRARY_PATH for programs that were unpacked there."""
    directories = {
        str(one.parent) for top in ("lib", "usr/lib") for one in root.glob(f"{top}/**/*.so*")
    }
    return ":".join(sorted(directories))
