"""Root file systems of Debian, made by debootstrap from wherever this machine's apt fetches."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from barnabas_pipeline.fetch.cache import CannotFetch, cache_dir, cached, run
from tools.fetch.debian import unpack_packages
from tools.kube.report import progress
from tools.kube.versions import DEBIAN_SUITE

TIMEOUT_S = 1200.0
# What nobody reads inside a container.
_LEFT_OUT = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "var/log")
_LEFT_OUT_TOO = ("usr/share/locale", "usr/share/info", "usr/share/lintian")


def debian_root(packages: Sequence[str], what: str) -> Path:
    """A small Debian with these packages; not to be changed, others copy it."""
    key = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]

    def build(target: Path) -> None:
        _bootstrap(target / "root", packages, what)

    return cached(f"kube/debian-{DEBIAN_SUITE}-{key}", build) / "root"


def copy_root(source: Path, target: Path) -> None:
    run(["cp", "--archive", "--reflink=auto", str(source), str(target)], "a root file system")


def _bootstrap(target: Path, packages: Sequence[str], what: str) -> None:
    progress(f"{what}: debootstrap")
    tool = cached(f"kube/debootstrap-{DEBIAN_SUITE}", _unpack)
    archives = cache_dir() / "kube" / "debian-archives"
    archives.mkdir(parents=True, exist_ok=True)
    command = [
        # Its mounts go with the namespace, even where it is killed.
        *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *("nice", "-n", "19", str(tool / "usr/sbin/debootstrap"), "--variant=minbase"),
        f"--include={','.join(packages)}",
        f"--cache-dir={archives}",
        *(DEBIAN_SUITE, str(target), _mirror()),
    ]
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    shared = tool / "usr" / "share" / "debootstrap"
    run(command, what, timeout_s=TIMEOUT_S, DEBOOTSTRAP_DIR=str(shared), PATH=path)
    for name in (*_LEFT_OUT, *_LEFT_OUT_TOO):
        _empty(target / name)


def pack(root: Path) -> "subprocess.Popen[bytes]":
    """The tree as a tar on its standard output."""
    command = ["tar", "-C", str(root), "--numeric-owner", "-c"]
    command += [f"--exclude=./{name}/*" for name in ("proc", "sys", "dev")]
    return subprocess.Popen([*command, "."], stdout=subprocess.PIPE)


def _unpack(target: Path) -> None:
    unpack_packages(target, ["debootstrap"], "debootstrap")


def _mirror() -> str:
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    command += ["Created-By: Packages", f"Codename: {DEBIAN_SUITE}"]
    found = run(command, "where apt fetches from").split()
    if not found:
        raise CannotFetch(f"apt knows no place for Debian {DEBIAN_SUITE}")
    return found[0]


def _empty(directory: Path) -> None:
    for entry in directory.iterdir() if directory.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
