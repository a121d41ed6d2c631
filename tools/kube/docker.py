"""Docker: the machine's own daemon, or a private one that leaves nothing behind.

The private one is Debian's package, unpacked into the cache. It runs in network, mount and process
namespaces of its own: its bridges, rules and mounts are seen by nobody else, and all of it ends
with the first process of its process namespace. It has no way out, so it cannot pull.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from barnabas_pipeline.fetch.cache import cache_dir, cached
from tools.fetch.debian import library_path, unpack_packages
from tools.kube.detached import (
    first_child,
    log_of,
    running_pid,
    start_detached,
    state_directory,
    stop_detached,
)
from tools.kube.report import progress
from tools.kube.versions import DEBIAN_SUITE

NAME: Final = "dockerd"
CGROUP: Final = "barnabas-kube"
START_TIMEOUT_S: Final = 60.0
COMMAND_TIMEOUT_S: Final = 1800.0
PACKAGES: Final = ("docker.io", "containerd", "runc", "iptables", "tini")
_TABLES: Final = ("iptables", "ip6tables")


class DockerFailed(Exception):
    """A docker command that ended badly, with what it said."""


@dataclass(frozen=True, slots=True)
class Docker:
    environment: Mapping[str, str]
    is_private: bool

    def run(self, *arguments: str, stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
        environment = os.environ | dict(self.environment)
        done = subprocess.run(
            [shutil.which("docker", path=environment["PATH"]) or "docker", *arguments],
            env=environment,
            stdin=stdin,
            capture_output=True,
            check=False,
            timeout=COMMAND_TIMEOUT_S,
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or done.stdout.decode()[-2_000:]
            raise DockerFailed(f"docker {' '.join(arguments[:3])}: {said}")
        return done.stdout.decode()

    def answers(self) -> bool:
        try:
            self.run("version", "--format", "{{.Server.Version}}")
        except (DockerFailed, OSError):
            return False
        return True

    def has_image(self, tag: str) -> bool:
        return bool(self.run("images", "--quiet", tag).strip())


def find_docker() -> Docker:
    """The machine's own where it answers; otherwise the private one, started."""
    own = Docker({}, is_private=False)
    if own.answers():
        return own
    return start_private()


def private_docker() -> Docker:
    """How to reach it, running or not."""
    root = docker_root()
    path = f"{root}/usr/sbin:{root}/usr/bin:{os.environ['PATH']}"
    socket = f"unix://{state_directory() / 'docker.sock'}"
    # The classic builder: BuildKit would ask a registry for the base that only lies here.
    return Docker({"PATH": path, "DOCKER_HOST": socket, "DOCKER_BUILDKIT": "0"}, is_private=True)


def docker_root() -> Path:
    return cached(f"kube/docker-{DEBIAN_SUITE}", _unpack)


def start_private() -> Docker:
    docker = private_docker()
    if running_pid(NAME) is None:
        progress("a private dockerd")
        start_detached(NAME, _command(docker_root()), _daemon_environment(docker_root()))
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while not docker.answers():
        if running_pid(NAME) is None or time.monotonic() > give_up_at:
            raise DockerFailed(f"dockerd did not start: {log_of(NAME).read_text()[-2_000:]}")
        time.sleep(0.2)
    return docker


def running_private() -> bool:
    return running_pid(NAME) is not None


def stop_private() -> None:
    """In order, so that containers end and their mounts go; then whatever is left, at once."""
    pid = running_pid(NAME)
    if pid is not None:
        stop_detached(NAME, first_child(pid))
    _remove_cgroups()


def first_process() -> int:
    """The first process of the private daemon's namespaces, as seen from here."""
    pid = running_pid(NAME)
    child = None if pid is None else first_child(pid)
    if child is None:
        raise DockerFailed("the private dockerd does not run")
    return child


def _unpack(target: Path) -> None:
    progress("docker, containerd and runc from Debian's packages")
    unpack_packages(target, PACKAGES, "docker")
    # dpkg would have made these through its alternatives.
    for table in _TABLES:
        for suffix in ("", "-save", "-restore"):
            link = target / "usr" / "sbin" / f"{table}{suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to("xtables-nft-multi")


def _command(root: Path) -> list[str]:
    directory = state_directory()
    daemon = [
        "dockerd",
        f"--host=unix://{directory / 'docker.sock'}",
        f"--data-root={cache_dir() / 'kube' / 'docker-data'}",
        f"--exec-root={directory / 'docker'}",
        f"--pidfile={directory / 'docker.pid'}",
        f"--cgroup-parent=/{CGROUP}",
        f"--add-runtime=limited={_write_runtime(root)}",
        "--default-runtime=limited",
    ]
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    loopback = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    (directory / "docker.pid").unlink(missing_ok=True)  # of a process namespace that is gone
    return [*apart, "--", str(root / "usr/bin/tini"), "--", *loopback, *daemon]


def _write_runtime(root: Path) -> Path:
    wrapper = state_directory() / "limited-runc"
    script = Path(__file__).with_name("limited_runc.py")
    runc = root / "usr" / "sbin" / "runc"
    # Without the daemon's library path, which is for its own programs.
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {script} {runc} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def _daemon_environment(root: Path) -> dict[str, str]:
    (plugins,) = root.glob("usr/lib/*/xtables")
    return {
        "PATH": f"{root}/usr/sbin:{root}/usr/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": library_path(root),
        "XTABLES_LIBDIR": str(plugins),
        "HOME": os.environ.get("HOME", "/"),
    }


def _remove_cgroups() -> None:
    """Empty ones that containers left which were not ended in order: from the leaves up."""
    for top in (Path("/sys/fs/cgroup") / CGROUP, *Path("/sys/fs/cgroup").glob(f"*/{CGROUP}")):
        for directory, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):  # what is not empty is not ours to end
                os.rmdir(directory)
