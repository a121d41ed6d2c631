"""What a machine lacks for a Kubernetes of its own: every want by name, ahead of time."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from barnabas_pipeline.fetch.cache import cache_dir
from tools.kube.docker import Docker
from tools.kube.go_build import is_built
from tools.kube.versions import DEBIAN_SUITE, ETCD, PROGRAMS

GIB: Final = 1 << 30
# Measured: modules 4, Go's build cache 6, programs 1, docker's directory and roots 14.
COLD_DISK_BYTES: Final = 28 * GIB
WARM_DISK_BYTES: Final = 8 * GIB
MEMORY_BYTES: Final = 6 * GIB
# Of the short path of the end-to-end tests, on two cores that do nothing else: all of it, and the
# tests alone.
COLD_S: Final = 45 * 60.0
WARM_S: Final = 15 * 60.0
TESTS_S: Final = 8 * 60.0
_API_PROGRAMS: Final = (ETCD.name, "kube-apiserver", "kubectl")


def missing_for_apiserver() -> list[str]:
    wants = [] if shutil.which("openssl") else ["openssl, for a key"]
    if not all(is_built(name) for name in _API_PROGRAMS):
        wants += _missing_tools("go")
        wants += _missing_disk(COLD_DISK_BYTES // 3)
    return wants


def missing_for_cluster() -> list[str]:
    """Nothing, where a cluster can be made: with the machine's docker, or with a private one."""
    built = all(is_built(one.name) for one in PROGRAMS)
    wants = _missing_disk(WARM_DISK_BYTES if built else COLD_DISK_BYTES)
    wants += [] if built else _missing_tools("go")
    if _memory_bytes() < MEMORY_BYTES:
        wants.append(f"{MEMORY_BYTES // GIB} GiB of memory")
    if not Docker({}, is_private=False).answers():
        wants += _missing_for_private_docker()
    return wants


def missing_time(left_s: float) -> list[str]:
    """Nothing, where the short path of the tests ends in time: Kubernetes is built first or not."""
    built = all(is_built(one.name) for one in PROGRAMS)
    needed_s = WARM_S if built else COLD_S
    if left_s >= needed_s:
        return []
    what = "a cluster" if built else "building Kubernetes and a cluster"
    return [f"{needed_s / 60:.0f} minutes for {what} (there are {left_s / 60:.0f})"]


def _missing_for_private_docker() -> list[str]:
    if os.geteuid() != 0:
        return ["root, or a docker daemon that answers"]
    wants = _missing_tools(
        "unshare", "ip", "apt-get", "dpkg-deb", "chroot", "tar", "cc", "gpgv", "wget"
    )
    if "unshare" not in "".join(wants) and not _can_make_namespaces():
        wants.append("leave to make network, mount and process namespaces")
    release = Path("/etc/os-release")
    if not release.exists() or DEBIAN_SUITE not in release.read_text():
        wants.append(f"Debian {DEBIAN_SUITE}, whose packages the private docker is made of")
    if not any(Path("/sys/fs/cgroup").iterdir()):
        wants.append("control groups at /sys/fs/cgroup")
    return wants


def _missing_tools(*names: str) -> list[str]:
    return [f"the program {name}" for name in names if shutil.which(name) is None]


def _missing_disk(needed: int) -> list[str]:
    at = cache_dir()
    while not at.exists():
        at = at.parent
    free = shutil.disk_usage(at).free
    if free >= needed:
        return []
    return [f"{needed // GIB} GiB of disk below {cache_dir()} (there are {free // GIB})"]


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _can_make_namespaces() -> bool:
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
