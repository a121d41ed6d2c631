"""The image of a kind node: kind's own where it can be pulled, otherwise one made here.

What kubeadm starts lies in the node's containerd under the names that it asks for: one image with
every program of the control plane, `pause`, and the provisioner of volumes.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from barnabas_pipeline.fetch.cache import cache_dir, cached, run
from tools.kube.debian_root import copy_root, debian_root
from tools.kube.docker import Docker, DockerFailed
from tools.kube.go_build import module_directory, program
from tools.kube.images import OWN_BASE, base_image, import_root
from tools.kube.node_root import make_node_root
from tools.kube.report import progress
from tools.kube.versions import KIND, KUBERNETES, PAUSE, PROVISIONER, STOCK_NODE_IMAGE

# The last number is ours: it changes when what is inside does.
NODE_IMAGE: Final = f"barnabas.local/node:v{KUBERNETES}-2"
NODE_BASE: Final = "barnabas.local/node-base"
PROVISIONER_IMAGE: Final = "barnabas.local/local-path-provisioner"
_BAKING: Final = "barnabas-node-baking"
_CONTROL_PLANE: Final = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
)
_IMPORT: Final = """\
set -e
containerd > /tmp/containerd.log 2>&1 &
for _ in $(seq 60); do ctr version > /dev/null 2>&1 && break; sleep 0.5; done
ctr -n k8s.io images import /in/images.tar > /dev/null
ctr -n k8s.io images ls -q
kill %1
wait || true
rm -f /tmp/containerd.log
"""


def node_image(docker: Docker) -> str:
    if not docker.is_private:
        try:
            docker.run("pull", "--quiet", STOCK_NODE_IMAGE)
        except DockerFailed as error:
            progress(f"{STOCK_NODE_IMAGE} cannot be pulled ({error}); making one")
        else:
            return STOCK_NODE_IMAGE
    if not docker.has_image(NODE_IMAGE):
        _make_node_image(docker)
    return NODE_IMAGE


def _make_node_image(docker: Docker) -> None:
    node = cached(f"kube/root-node-{KUBERNETES}-{KIND}-2", lambda at: make_node_root(at / "root"))
    import_root(docker, node / "root", NODE_BASE, "ENV container=docker")
    with tempfile.TemporaryDirectory(dir=cache_dir() / "kube") as directory:
        archive = Path(directory) / "images.tar"
        tags = [
            base_image_here(docker),
            *_control_plane(docker),
            _pause(docker),
            _provisioner(docker),
        ]
        progress("the node's images: saving")
        docker.run("save", "--output", str(archive), *tags)
        _bake(docker, archive)


def base_image_here(docker: Docker) -> str:
    found = base_image(docker)
    if found != OWN_BASE:
        docker.run("tag", found, OWN_BASE)
    return OWN_BASE


def _bake(docker: Docker, archive: Path) -> None:
    progress("the node's images: into its containerd")
    with contextlib.suppress(DockerFailed):
        docker.run("rm", "--force", _BAKING)
    mount = f"{archive.parent}:/in:ro"
    started = ("run", "--detach", "--name", _BAKING, "--privileged", "--entrypoint", "sleep")
    docker.run(*started, "--volume", mount, NODE_BASE, "infinity")
    try:
        docker.run("exec", _BAKING, "bash", "-c", _IMPORT)
        entrypoint = 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]'
        docker.run("commit", "--change", entrypoint, _BAKING, NODE_IMAGE)
    finally:
        docker.run("rm", "--force", _BAKING)


def _control_plane(docker: Docker) -> Sequence[str]:
    """One image, every tag that kubeadm asks for but pause's."""
    kubeadm = [str(program("kubeadm")), "config", "images", "list"]
    listed = run([*kubeadm, f"--kubernetes-version=v{KUBERNETES}"], "kubeadm").split()
    tags = [tag for tag in listed if "/pause:" not in tag]
    root = cached(f"kube/root-control-plane-{KUBERNETES}", _make_control_plane) / "root"
    import_root(docker, root, tags[0], 'ENTRYPOINT ["/coredns"]')
    for tag in tags[1:]:
        docker.run("tag", tags[0], tag)
    return tags


def _make_control_plane(target: Path) -> None:
    root = target / "root"
    packages = ("iptables", "conntrack", "kmod")
    copy_root(debian_root(packages, "the control plane's image"), root)
    for name in (*_CONTROL_PLANE, "etcd"):
        shutil.copy(program(name), root / "usr/local/bin" / name)
    shutil.copy(program("coredns"), root / "coredns")


def _pause(docker: Docker) -> str:
    tag = f"registry.k8s.io/pause:{PAUSE}"
    with tempfile.TemporaryDirectory() as directory:
        source = module_directory("kubelet") / "build" / "pause" / "linux" / "pause.c"
        compiled = ["cc", "-Os", "-static", f"-DVERSION=v{PAUSE}"]
        run([*compiled, "-o", f"{directory}/pause", str(source)], "pause")
        import_root(docker, Path(directory), tag, 'ENTRYPOINT ["/pause"]')
    return tag


def _provisioner(docker: Docker) -> str:
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(program(PROVISIONER.name), directory)
        entrypoint = f'ENTRYPOINT ["/{PROVISIONER.name}"]'
        import_root(docker, Path(directory), PROVISIONER_IMAGE, entrypoint)
    return PROVISIONER_IMAGE
