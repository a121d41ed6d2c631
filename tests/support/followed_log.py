"""What the pods of a Deployment say, kept as they say it: also those that are killed on the way.

    with FollowedLog(place, "app.kubernetes.io/name=barnabas-operator", directory) as log:
        ...
    log.lines()

Kubernetes has the logs of a pod as long as it has the pod. So each one is followed from its first
line on by a `kubectl logs --follow`, and again when its container was restarted.
"""

import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from tests.support.kind_lab import Place
from tools.kube.go_build import program
from tools.kube.kind_cluster import ClusterFailed

_PAUSE_S: Final = 2.0
_END_S: Final = 10.0


@dataclass(slots=True)
class FollowedLog:
    place: Place
    selector: str
    directory: Path
    _followers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="followed-log")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        self._is_over.set()
        self._thread.join()
        for follower in self._followers.values():
            follower.terminate()
            follower.wait(_END_S)

    def lines(self) -> list[str]:
        """Of all pods so far, one after the other."""
        files = sorted(self.directory.glob("*.log"))
        return [line for file in files for line in file.read_text().splitlines()]

    def _run(self) -> None:
        while not self._is_over.wait(_PAUSE_S):
            # A namespace that is not there yet, or an API that does not answer: later.
            with suppress(ClusterFailed, subprocess.TimeoutExpired):
                self._turn()

    def _turn(self) -> None:
        for pod in self.place.get("pods", "-l", self.selector)["items"]:
            for container in pod["status"].get("containerStatuses") or ():
                if "running" in container["state"]:
                    name = f"{pod['metadata']['name']}-{container['restartCount']}"
                    self._follow(name, pod["metadata"]["name"])

    def _follow(self, name: str, pod: str) -> None:
        if name in self._followers:
            return
        with (self.directory / f"{name}.log").open("wb") as file:
            self._followers[name] = subprocess.Popen(
                [str(program("kubectl")), "-n", self.place.name, "logs", "--follow", pod],
                env=self.place.cluster.environment,
                stdout=file,
                stderr=subprocess.DEVNULL,
            )
