"""`barnabas cluster status`: what a person on call reads, and what is told when nothing can be."""

import copy
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas.cli import main
from barnabas_operator.report import cluster_report
from tests.support.blueprints import LARGE

CLUSTER: dict[str, Any] = {
    "metadata": {"name": "demo", "namespace": "kafka", "generation": 3},
    "spec": LARGE,
    "status": {
        "observedGeneration": 3,
        "clusterId": "abc",
        "version": "1.0",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Serving",
                "message": "3 of 3 brokers",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {
                "type": "Degraded",
                "status": "False",
                "reason": "Fine",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {
                "type": "Stalled",
                "status": "False",
                "reason": "AsExpected",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {
                "type": "Reconciling",
                "status": "False",
                "reason": "Stable",
                "message": "everything is as the resource says",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {
                "type": "ReplicasInSync",
                "status": "False",
                "reason": "CatchingUp",
                "message": "2 replicas lag",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
        ],
        "pools": [
            {
                "name": "controllers",
                "role": "controller",
                "firstNodeId": 100000,
                "replicas": 3,
                "ready": 3,
                "updated": 3,
            },
            {
                "name": "main",
                "role": "broker",
                "firstNodeId": 0,
                "replicas": 3,
                "ready": 2,
                "updated": 1,
            },
        ],
        "listeners": [
            {
                "name": "plain",
                "type": "internal",
                "bootstrapServers": "demo-plain-bootstrap.kafka.svc:9092",
            }
        ],
        "voters": [
            {"nodeId": 100000, "lag": 0, "isLeader": True},
            {"nodeId": 100001, "lag": 12, "isLeader": False},
            {"nodeId": 100002, "lag": -1, "isLeader": False},
        ],
        "replication": {"partitions": 120, "underReplicated": 2},
        "rollout": {
            "revision": "ab12",
            "updated": 4,
            "total": 8,
            "current": ["demo-main-1"],
            "blockedBy": ["partition orders-3 would fall below min ISR"],
        },
    },
}
PAGE = """\
kafka/demo: ready (3 of 3 brokers)
version 1.0, cluster id abc

POOL         ROLE        NODE IDS       READY  UPDATED
controllers  controller  100000-100002  3/3    3/3
main         broker      0-2            2/3    1/3

LISTENER  TYPE      BOOTSTRAP SERVERS
plain     internal  demo-plain-bootstrap.kafka.svc:9092

roll: 4 of 8 pods at revision ab12
  restarting: demo-main-1
  blocked by: partition orders-3 would fall below min ISR
quorum: leader 100000; records behind: 100001 12, 100002 never heard of
partitions: 120, 2 with replicas that lag
ReplicasInSync is False: CatchingUp: 2 replicas lag"""


class _Api(http.server.BaseHTTPRequestHandler):
    """The one answer of a Kubernetes API that is needed here."""

    def do_GET(self) -> None:
        is_known = self.path.endswith("/namespaces/kafka/kafkaclusters/demo")
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(CLUSTER if is_known else {}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Api)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    path = tmp_path / "config"
    written = {
        "clusters": [
            {"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        ],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(written))
    monkeypatch.setenv("KUBECONFIG", str(path))
    yield path
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_says_what_runs_what_lags_and_what_blocks() -> None:
    assert "\n".join(cluster_report(CLUSTER)) == PAGE


def test_a_cluster_that_no_operator_has_seen_is_not_called_ready() -> None:
    unseen = {key: one for key, one in CLUSTER.items() if key != "status"}

    lines = cluster_report(unseen)

    assert lines[0] == "kafka/demo: no operator has seen it"
    assert lines[1].startswith("the operator has not seen the newest change")


def test_a_change_that_was_not_seen_yet_is_told() -> None:
    changed = copy.deepcopy(CLUSTER)
    changed["metadata"]["generation"] = 4

    assert any("has not seen the newest change" in line for line in cluster_report(changed))


@pytest.mark.usefixtures("kubeconfig")
def test_the_command_asks_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status", "-n", "kafka", "demo"]) == 0
    assert capsys.readouterr().out == PAGE + "\n"


@pytest.mark.usefixtures("kubeconfig")
def test_a_cluster_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status", "-n", "kafka", "other"]) == 1
    assert capsys.readouterr().err == "barnabas: kafka/other: Not Found\n"


def test_without_a_kubeconfig_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    assert main(["cluster", "status", "demo"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("barnabas: default/demo: ")
    assert told.count("\n") == 1
