"""What end-to-end tests do with a cluster: apply, wait, look, and put load on it.

    with lab.namespace("orders", bootstrap="bootstrap:9092") as place:
        place.apply(manifest)
        place.wait_ready("app=broker", 3)
        with place.numbered_load("orders") as load:
            place.replace_pod("broker-1")
        expect_nothing_lost(load.verdict, gap_ms=15_000)

Every wait has a deadline. When a test fails, what its namespace holds is printed: pods, events and
the ends of their logs.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tools.kube.images import CLIENT
from tools.kube.kind_cluster import ClusterFailed, KindCluster

READY_TIMEOUT_S: Final = 300.0
_PAUSE_S: Final = 0.5
_LOG_LINES: Final = "40"


FIGURES: Final[list[str]] = []
"""What tests measured, for the end of the run to show."""


def note_figures(what: str, figures: dict[str, Any]) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0].rpartition("::")[2]
    shown = ", ".join(f"{key} {value}" for key, value in figures.items() if key != "kind")
    FIGURES.append(f"{test}: {what}: {shown}")


def until(condition: Callable[[], bool], what: str, deadline_s: float = READY_TIMEOUT_S) -> float:
    """How long it took, in seconds."""
    started_at = time.monotonic()
    while not condition():
        assert time.monotonic() - started_at < deadline_s, f"not within {deadline_s} s: {what}"
        time.sleep(_PAUSE_S)
    return time.monotonic() - started_at


@dataclass(slots=True)
class Load:
    """A client pod that runs until it is told to stop, and then gives its verdict."""

    place: "Place"
    pod: str
    verdict: dict[str, Any] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """The newest line that it printed."""
        return self.place.last_report(self.pod)

    def wait_progress(self, key: str = "acknowledged", more: int = 100) -> None:
        """Until the figure has grown by so much from what it is now."""
        before = self.figures().get(key, 0)
        until(lambda: self.figures().get(key, 0) >= before + more, f"{self.pod}: {key} grows")

    def wait_all_partitions(self, more: int) -> None:
        """Until every partition has acknowledged so many more."""
        before = self.figures()["acknowledged_by_partition"]

        def have_grown() -> bool:
            now = self.figures()["acknowledged_by_partition"]
            return all(later >= earlier + more for earlier, later in zip(before, now, strict=True))

        until(have_grown, f"{self.pod}: every partition is written to")

    def stop(self) -> dict[str, Any]:
        self.place.kubectl("exec", self.pod, "--", "sh", "-c", "kill -TERM 1")
        until(lambda: self.place.phase(self.pod) in ("Succeeded", "Failed"), f"{self.pod} ends")
        last = self.place.last_report(self.pod)
        assert last.get("kind") == "verdict", last
        self.verdict = last
        return last


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of the cluster."""

    cluster: KindCluster
    name: str
    bootstrap: str
    """Where clients in this namespace find the brokers."""

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.cluster.kubectl("-n", self.name, *arguments, stdin=stdin)

    def apply(self, manifest: str) -> None:
        self.kubectl("apply", "-f", "-", stdin=manifest)

    def get(self, *what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *what, "-o", "json"))
        return found

    def wait_ready(self, selector: str, count: int, deadline_s: float = READY_TIMEOUT_S) -> float:
        """Until so many pods of the selector are Ready, and none other is there."""

        def are_ready() -> bool:
            pods = self.get("pods", "-l", selector)["items"]
            return len(pods) == count and all(_is_ready(pod) for pod in pods)

        return until(are_ready, f"{count} pods of {selector} are Ready", deadline_s)

    def uid(self, pod: str) -> str:
        return str(self.get("pod", pod)["metadata"]["uid"])

    def phase(self, pod: str) -> str:
        return str(self.get("pod", pod)["status"]["phase"])

    def replace_pod(self, pod: str, *options: str) -> float:
        """Seconds from its deletion until its successor is Ready."""
        before, started_at = self.uid(pod), time.monotonic()
        self.kubectl("delete", "pod", pod, "--wait=false", *options)

        def is_back() -> bool:
            found = self.get("pods", "--field-selector", f"metadata.name={pod}")["items"]
            return any(one["metadata"]["uid"] != before and _is_ready(one) for one in found)

        until(is_back, f"{pod} is back")
        took_s = time.monotonic() - started_at
        note_figures("replaced", {"pod": pod, "seconds": round(took_s, 1)})
        return took_s

    # --- clients

    def run_client(self, name: str, *arguments: str) -> dict[str, Any]:
        """A client program that ends by itself; its last line."""
        self.apply(_client_pod(name, arguments))
        until(lambda: self.phase(name) in ("Succeeded", "Failed"), f"{name} ends")
        printed = self.kubectl("logs", name)
        assert self.phase(name) == "Succeeded", printed
        return self.last_report(name)

    def last_report(self, pod: str) -> dict[str, Any]:
        """The newest line of a client that is a report: librdkafka prints its own between them."""
        lines = self.kubectl("logs", pod, f"--tail={_LOG_LINES}").splitlines()
        reports = [line for line in lines if line.startswith("{")]
        found: dict[str, Any] = json.loads(reports[-1]) if reports else {}
        return found

    @contextmanager
    def load(self, name: str, *arguments: str, key: str = "acknowledged") -> Iterator[Load]:
        """Started and under way; stopped at the end, with its verdict."""
        self.apply(_client_pod(name, arguments))
        until(lambda: self.phase(name) == "Running", f"{name} runs")
        load = Load(self, name)
        load.wait_progress(key)
        yield load
        load.stop()

    @contextmanager
    def numbered_load(self, topic: str) -> Iterator[Load]:
        """On a topic of its own: six partitions, three replicas, at least two in sync."""
        shape = (self.bootstrap, topic, "0", "--create=6,3")
        self.run_client(f"make-{topic}", "round_trip.py", *shape)
        options = (f"--topic={topic}", f"--bootstrap={self.bootstrap}", "--partitions=6")
        with self.load(f"load-{topic}", "numbered_load.py", *options) as load:
            yield load

    def describe(self) -> str:
        """What a reader of a failed test wants to see."""
        parts = [self.kubectl("get", "pods,pvc,statefulsets", "-o", "wide")]
        parts.append(self.kubectl("get", "events", "--sort-by=.lastTimestamp"))
        for pod in self.get("pods")["items"]:
            name = pod["metadata"]["name"]
            try:
                text = self.kubectl("logs", name, "--all-containers", f"--tail={_LOG_LINES}")
            except ClusterFailed as error:
                text = str(error)
            parts.append(f"===== {name}\n{text}")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class KindLab:
    cluster: KindCluster

    @contextmanager
    def namespace(self, name: str, bootstrap: str = "") -> Iterator[Place]:
        place = Place(self.cluster, name, bootstrap)
        self.cluster.kubectl("create", "namespace", name)
        try:
            yield place
        except BaseException:
            print(place.describe())
            raise
        finally:
            self.cluster.kubectl("delete", "namespace", name, "--timeout=180s")

    # --- nodes

    def stop_node(self, node: str) -> None:
        """At once, as when its power fails."""
        self.cluster.docker.run("kill", node)

    def start_node(self, node: str) -> None:
        self.cluster.docker.run("start", node)

    def is_node_ready(self, node: str) -> bool:
        return _is_ready(json.loads(self.cluster.kubectl("get", "node", node, "-o", "json")))


def expect_nothing_lost(verdict: dict[str, Any], gap_ms: int) -> None:
    note_figures("load", verdict)
    for trouble in ("lost", "doubled", "disordered", "failures"):
        assert verdict[trouble] == 0, verdict
    assert verdict["longest_gap_ms"] <= gap_ms, verdict


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    is_leaving = "deletionTimestamp" in pod["metadata"]
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and not is_leaving


def _client_pod(name: str, arguments: Sequence[str]) -> str:
    container = {
        "name": "client",
        "image": CLIENT,
        "imagePullPolicy": "Never",
        "args": list(arguments),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    specification = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        # On the control plane, which no test stops.
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001},
        "containers": [container],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "client"}},
        "spec": specification,
    }
    return json.dumps(pod)
