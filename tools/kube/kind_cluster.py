"""A kind cluster: one control plane and three workers, each worker a zone of its own.

Where the node image is made here there is no kindnetd: every node gets a bridge for its own pods
and static routes to the others', written down so that they are there again after a restart.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.kube.detached import start_detached, state_directory, stop_detached
from tools.kube.docker import (
    Docker,
    DockerFailed,
    find_docker,
    first_process,
    private_docker,
    running_private,
    stop_private,
)
from tools.kube.go_build import program
from tools.kube.local_process import free_ports
from tools.kube.node_image import NODE_IMAGE, node_image
from tools.kube.report import progress
from tools.kube.wheels import TREE

NAME: Final = "barnabas"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
ZONES: Final = ("zone-a", "zone-b", "zone-c")
FORWARD: Final = "forward"
READY_TIMEOUT_S: Final = 300
COMMAND_TIMEOUT_S: Final = 900.0
_LABEL: Final = "io.x-k8s.kind.cluster"
_POD_SUBNET: Final = "10.245.0.0/16"


class ClusterFailed(Exception):
    """The cluster is not as it should be; the message says which part."""


@dataclass(frozen=True, slots=True)
class KindCluster:
    docker: Docker
    kubeconfig: Path

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | dict(self.docker.environment) | {"KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self._run("kubectl", *arguments, stdin=stdin)

    def helm(self, *arguments: str) -> str:
        return self._run("helm", *arguments)

    def load_images(self, tags: list[str]) -> None:
        progress(f"into every node: {', '.join(tags)}")
        self._run("kind", "load", "docker-image", "--name", NAME, *tags)

    def _run(self, name: str, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [str(program(name)), *arguments],
            env=self.environment,
            input=stdin or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT_S,
        )
        if done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()[-2_000:]
            raise ClusterFailed(f"{name} {' '.join(arguments[:4])}: {said}")
        return done.stdout


def up() -> KindCluster:
    """The cluster, made where there is none; Ready, with DNS and volumes."""
    cluster = KindCluster(find_docker(), state_directory() / "kubeconfig")
    image = node_image(cluster.docker)
    if not exists(cluster):
        _create(cluster, image)
    if cluster.docker.is_private:
        port = cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
        _forward(int(port.rpartition(":")[2]))
    _wait_answers(cluster)
    if image == NODE_IMAGE:
        _connect_pods(cluster)
    _wait_ready(cluster)
    return cluster


def find() -> KindCluster | None:
    """The cluster that `up` left, if it is there."""
    docker = private_docker() if running_private() else find_docker_that_runs()
    if docker is None:
        return None
    cluster = KindCluster(docker, state_directory() / "kubeconfig")
    return cluster if exists(cluster) else None


def find_docker_that_runs() -> Docker | None:
    own = Docker({}, is_private=False)
    return own if own.answers() else None


def down() -> None:
    """The cluster, the forwarder and the private daemon. What was built stays in the cache."""
    stop_detached(FORWARD)
    cluster = find()
    if cluster is not None:
        progress(f"deleting the cluster {NAME}")
        cluster._run("kind", "delete", "cluster", "--name", NAME)
    if running_private():
        progress("stopping the private dockerd")
    stop_private()
    (state_directory() / "kubeconfig").unlink(missing_ok=True)


def exists(cluster: KindCluster) -> bool:
    """By the label that kind gives its nodes."""
    nodes = cluster.docker.run("ps", "--all", "--quiet", "--filter", f"label={_LABEL}={NAME}")
    return bool(nodes.strip())


# --- making it


def _create(cluster: KindCluster, image: str) -> None:
    progress(f"a kind cluster of {image}: one control plane, {len(ZONES)} workers")
    (port,) = free_ports(1)
    nodes: list[dict[str, object]] = [{"role": "control-plane"}]
    nodes += [{"role": "worker", "labels": {ZONE_LABEL: zone}} for zone in ZONES]
    networking = {
        "ipFamily": "ipv4",
        "disableDefaultCNI": image == NODE_IMAGE,
        "apiServerAddress": "127.0.0.1",
        "apiServerPort": port,
        "podSubnet": _POD_SUBNET,
    }
    config = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": networking,
        "nodes": nodes,
    }
    file = state_directory() / "kind.json"
    file.write_text(json.dumps(config))
    options = ("--image", image, "--config", str(file), "--kubeconfig", str(cluster.kubeconfig))
    cluster._run("kind", "create", "cluster", "--name", NAME, "--wait", "0s", *options)


def _forward(port: int) -> None:
    """kind publishes the API on loopback: on that of the private daemon's network."""
    os.environ.setdefault("PYTHONPATH", str(TREE))
    command = [sys.executable, "-m", "tools.kube.forward", str(first_process()), str(port)]
    start_detached(FORWARD, command, os.environ | {"PYTHONPATH": str(TREE)})


def _connect_pods(cluster: KindCluster) -> None:
    columns = (
        '{.metadata.name} {.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}'
    )
    query = "jsonpath={range .items[*]}" + columns + '{"\\n"}{end}'
    listed = cluster.kubectl("get", "nodes", "-o", query).splitlines()
    nodes = [tuple(line.split()) for line in listed]
    for name, subnet, _ in nodes:
        others = [(there, address) for node, there, address in nodes if node != name]
        routes = "".join(f"ip route replace {there} via {via}\n" for there, via in others)
        _write(cluster.docker, name, "/etc/pod-routes.sh", routes)
        cluster.docker.run("exec", name, "sh", "/etc/pod-routes.sh")
        _write(cluster.docker, name, "/etc/cni/net.d/10-bridge.conflist", _bridge(subnet))


def _bridge(subnet: str) -> str:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    plugins = [bridge | {"ipMasq": False, "ipam": addresses}, ports]
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins})


def _write(docker: Docker, node: str, path: str, text: str) -> None:
    docker.run("exec", node, "sh", "-c", 'printf "%s" "$1" > "$2"', "sh", text, path)


def _wait_answers(cluster: KindCluster) -> None:
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            cluster.kubectl("get", "--raw", "/readyz")
        except ClusterFailed:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.5)
        else:
            return


def _wait_ready(cluster: KindCluster) -> None:
    deadline = f"--timeout={READY_TIMEOUT_S}s"
    cluster.kubectl("wait", "--for=condition=Ready", "nodes", "--all", deadline)
    for where, what in (
        ("kube-system", "deployment/coredns"),
        ("local-path-storage", "deployment/local-path-provisioner"),
    ):
        cluster.kubectl("-n", where, "rollout", "status", what, deadline)
    progress("the cluster is ready")


__all__ = ["ClusterFailed", "DockerFailed", "KindCluster", "down", "find", "up"]
