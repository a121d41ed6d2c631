"""`python -m tools.kube COMMAND`: a Kubernetes of the project's own, and what runs on it."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from barnabas_pipeline.fetch.cache import CannotFetch
from tools.kube import kind_cluster
from tools.kube.apiserver import CONTROLLERS, ApiServer
from tools.kube.docker import DockerFailed, find_docker, stop_private
from tools.kube.go_build import program
from tools.kube.images import base_image, build_images, image_sizes
from tools.kube.local_process import DidNotStart
from tools.kube.preflight import (
    TESTS_S,
    missing_for_apiserver,
    missing_for_cluster,
    missing_time,
)
from tools.kube.report import progress
from tools.kube.versions import PROGRAMS

MEGABYTE = 1_000_000
CI_BUDGET_S = 80 * 60.0
CANNOT_MAKE = (CannotFetch, DidNotStart, DockerFailed, kind_cluster.ClusterFailed)


def preflight(_: list[str]) -> int:
    status = 0
    for what, missing in (
        ("an API server alone", missing_for_apiserver()),
        ("a cluster", missing_for_cluster()),
    ):
        print(f"{what}: {'can be made' if not missing else 'lacks ' + '; '.join(missing)}")
        status |= int(bool(missing))
    return status


def build(names: list[str]) -> int:
    for name in names or [one.name for one in PROGRAMS]:
        print(program(name))
    return 0


def apiserver(_: list[str]) -> int:
    """Until SIGTERM or Ctrl-C."""
    is_over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: is_over.set())
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-apiserver-") as directory,
        ApiServer(Path(directory), CONTROLLERS) as server,
    ):
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)
        is_over.wait()
    return 0


def images(_: list[str]) -> int:
    docker = find_docker()
    try:
        for tag, size in image_sizes(docker, build_images(docker)).items():
            print(f"{tag:32} {size / MEGABYTE:7.0f} MB")
    finally:
        if docker.is_private and kind_cluster.find() is None:
            stop_private()
    return 0


def up(_: list[str]) -> int:
    if not _can_make_cluster():
        return 1
    cluster = kind_cluster.up()
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    return 0


def e2e(arguments: list[str]) -> int:
    """The cluster, the images in it, pytest with these arguments, and the end of it all."""
    if not _can_make_cluster():
        return 1
    with _private_ending():
        return _test(kind_cluster.up(), arguments)


def smoke(arguments: list[str]) -> int:
    """The short path, last in `make ci`, begun at the given second and over within its budget.

    A machine on which no cluster can be made leaves it out, and says why; what our own images and
    tests do wrong is a failure.
    """
    left_s = CI_BUDGET_S - (time.time() - float(arguments[0]) if arguments else 0.0)
    missing = missing_for_cluster() or missing_time(left_s)
    if missing:
        return _leave_out(f"this machine lacks {'; '.join(missing)}")
    with _private_ending():
        try:
            with _within(left_s - TESTS_S):
                cluster = kind_cluster.up()
                base_image(cluster.docker)
        except CANNOT_MAKE as error:
            return _leave_out(f"no cluster could be made: {error}")
        return _test(cluster, ["tests/e2e", "-m", "smoke"])


def _test(cluster: kind_cluster.KindCluster, arguments: list[str]) -> int:
    cluster.load_images(build_images(cluster.docker))
    progress("tests begin")
    # For a roll of everything on a busy machine; each wait has a deadline of its own.
    limits = ["-o", "timeout=1800", "-o", "faulthandler_timeout=2000"]
    environment = os.environ | {"BARNABAS_KUBERNETES": "1"}
    command = [sys.executable, "-m", "pytest", *limits, *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Whatever runs in it, a compiler or a wait, is over by then."""

    def give_up(*_: object) -> None:
        raise DidNotStart(f"it was not ready after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _private_ending() -> Iterator[None]:
    """Nothing runs afterwards, unless it is to be kept."""
    try:
        yield
    finally:
        if not os.environ.get("E2E_KEEP"):
            kind_cluster.down()
        progress("end to end")


def _leave_out(reason: str) -> int:
    print(f"left out: the end-to-end tests on a kind cluster: {reason}")
    return 0


def down(_: list[str]) -> int:
    kind_cluster.down()
    return 0


def kubectl(arguments: list[str]) -> int:
    cluster = kind_cluster.find()
    if cluster is None:
        print("there is no cluster: python -m tools.kube up", file=sys.stderr)
        return 1
    print(cluster.kubectl(*arguments), end="")
    return 0


def _can_make_cluster() -> bool:
    missing = missing_for_cluster()
    if missing:
        print(f"tools.kube: this machine lacks {'; '.join(missing)}", file=sys.stderr)
    return not missing


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    one.__name__: one
    for one in (preflight, build, apiserver, images, up, down, e2e, smoke, kubectl)
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.kube", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        return COMMANDS[options.command](options.arguments)
    except CANNOT_MAKE as error:
        print(f"tools.kube: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
