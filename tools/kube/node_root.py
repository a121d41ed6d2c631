"""The root file system of a kind node, where `kindest/node` cannot be pulled.

Debian with systemd and containerd, the files of kind's own module, and Kubernetes' programs.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from barnabas_pipeline.fetch.cache import run
from tools.kube.debian_root import copy_root, debian_root
from tools.kube.go_build import module_directory, program
from tools.kube.versions import KUBERNETES

FILES: Final = Path(__file__).with_name("node")
PACKAGES: Final = (
    *("systemd", "systemd-sysv", "dbus", "containerd", "runc", "containernetworking-plugins"),
    *("iptables", "ebtables", "conntrack", "ethtool", "socat", "iproute2", "kmod", "procps"),
    *("util-linux", "mount", "hostname", "ca-certificates", "curl", "jq", "libseccomp2"),
    *("nfs-common", "rsync", "python3-minimal", "iputils-ping"),
)
# Units that make no sense in a container, or that look for a machine's devices.
_WANTED_BY_NOBODY: Final = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/multi-user.target.wants/*",
    "etc/systemd/system/*.wants/*",
    "lib/systemd/system/local-fs.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*udev*",
    "lib/systemd/system/sockets.target.wants/*initctl*",
    "lib/systemd/system/basic.target.wants/*",
)


def make_node_root(root: Path) -> None:
    copy_root(debian_root(PACKAGES, "a kind node"), root)
    _add_kind_files(root)
    _add_own_files(root)
    _settle_systemd(root)
    _settle_containerd(root)
    for name in ("kubeadm", "kubelet", "kubectl"):
        shutil.copy(program(name), root / "usr" / "bin" / name)
    (root / "kind" / "version").write_text(f"v{KUBERNETES}")


def _add_kind_files(root: Path) -> None:
    files = module_directory("kind") / "images" / "base" / "files"
    # Those of the module cache are read-only, and have no modes that mean anything.
    run(["cp", "-r", "--no-preserve=mode,ownership", f"{files}/.", str(root)], "kind's files")
    for directory in ("usr/local/bin", "kind/bin"):
        for script in (root / directory).iterdir():
            script.chmod(0o755)
    for name in ("containerd", "ctr", "containerd-shim-runc-v2"):
        (root / "usr/local/bin" / name).symlink_to(f"/usr/bin/{name}")
    for directory in ("opt/cni", "etc/kubernetes/manifests", "kind/manifests", "etc/cni/net.d"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    (root / "opt/cni/bin").symlink_to("/usr/lib/cni")


def _add_own_files(root: Path) -> None:
    shutil.copy(FILES / "default-storage.yaml", root / "kind/manifests/default-storage.yaml")
    shutil.copy(FILES / "pod-routes.service", root / "etc/systemd/system/pod-routes.service")


def _settle_systemd(root: Path) -> None:
    for pattern in _WANTED_BY_NOBODY:
        for unit in root.glob(pattern):
            unit.unlink()
    with (root / "etc/systemd/journald.conf").open("a") as file:
        file.write("ReadKMsg=no\n")
    for name in ("kubelet", "containerd", "undo-mount-hacks", "pod-routes"):
        _chroot(root, "systemctl", "enable", f"{name}.service")
    _chroot(root, "systemctl", "mask", "systemd-binfmt.service")


def _settle_containerd(root: Path) -> None:
    settings = root / "etc/containerd/config.toml"
    # Without CAP_SYS_RESOURCE a sandbox may not be given the score that kubelet asks for.
    settings.write_text(
        settings.read_text().replace(
            "restrict_oom_score_adj = false", "restrict_oom_score_adj = true"
        )
    )
    base = json.loads(_chroot(root, "ctr", "oci", "spec"))
    hooks = base.setdefault("hooks", {}).setdefault("createContainer", [])
    hooks.append({"path": "/kind/bin/mount-product-files.sh"})
    base["process"].pop("rlimits", None)
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(base))


def _chroot(root: Path, *command: str) -> str:
    done = subprocess.run(
        ["chroot", str(root), *command], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout
