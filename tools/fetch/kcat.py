"""kcat: the machine's own, or Debian's package unpacked into the cache (which needs no root)."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.fetch.cache import CannotFetch, cached, progress, run

# Part of every system that has apt; a second copy of these could clash with the loader's.
ALREADY_THERE = frozenset({"libc6", "libgcc-s1", "libcrypt1", "debconf", "perl-base", "dpkg"})
CLOSURE = [
    "--recurse",
    *(f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces")),
    "--no-enhances",
]


@dataclass(frozen=True, slots=True)
class Kcat:
    program: Path
    environment: dict[str, str]


def fetch_kcat() -> Kcat:
    for name in ("kcat", "kafkacat"):
        found = shutil.which(name)
        if found:
            return Kcat(Path(found), {})
    root = cached("kcat", unpack)
    libraries = sorted({str(library.parent) for library in root.glob("usr/lib/**/*.so*")})
    return Kcat(root / "usr" / "bin" / "kcat", {"LD_LIBRARY_PATH": ":".join(libraries)})


def unpack(target: Path) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise CannotFetch("kcat is not installed, and without apt it cannot be fetched: install it")
    progress("kcat and its libraries (6 MB) with apt")
    state = target / "apt"
    for directory in ("lists/partial", "archives/partial"):
        (state / directory).mkdir(parents=True)
    # Lists of our own, so that neither root nor an earlier `apt-get update` is needed.
    own = ["-o", f"Dir::State::lists={state / 'lists'}", "-o", f"Dir::Cache={state}"]
    own += ["-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"]
    run(["apt-get", *own, "-q", "update"], "kcat")
    listed = run(["apt-cache", *own, "depends", *CLOSURE, "kcat"], "kcat").splitlines()
    wanted = [name for name in listed if name and name[0].isalnum() and name not in ALREADY_THERE]
    run(["apt-get", *own, "-q", "download", *wanted], "kcat", directory=state)
    for package in sorted(state.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(target)], "kcat")
    shutil.rmtree(state)
