"""When a combined node is its own cluster, and what it does not load then."""

import subprocess
import sys

import pytest

from barnabas.combined_node import is_alone
from barnabas_core.config.server_properties import node_properties

QUICK_START = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}
SERVERS = "controller.quorum.bootstrap.servers"
VOTERS = "controller.quorum.voters"


@pytest.mark.parametrize(
    ("changes", "alone"),
    [
        ({}, True),
        ({SERVERS: "localhost:9093,localhost:9094"}, False),
        # Perhaps the same, perhaps not: then it is asked over the network, which works for both.
        ({SERVERS: "127.0.0.1:9093"}, False),
        ({SERVERS: "localhost:9094"}, False),
        ({VOTERS: "1@elsewhere:1"}, True),
        ({VOTERS: "1@localhost:9093,2@localhost:9094"}, False),
        ({"internal.listener": "localhost:7000"}, False),
        ({"coordinator.mode": "remote"}, False),
    ],
)
def test_it_is_alone_if_nobody_else_is_named(changes: dict[str, str], *, alone: bool) -> None:
    properties = node_properties(QUICK_START | changes, {}, lambda _: None)

    assert is_alone(properties) == alone


def test_both_roles_load_without_grpc() -> None:
    script = "import sys, barnabas.combined_node; print('grpc' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert done.stdout.decode().strip() == "False"
