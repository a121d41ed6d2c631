"""What is built, in which version: one table, so that cache entries are keyed by it."""

from dataclasses import dataclass
from typing import Final

# 1.33.5, 1.33.6 and 1.32.9 are not whole on the module proxy; kubelets from 1.35 on refuse the
# first version of cgroups.
KUBERNETES: Final = "1.33.4"
KIND: Final = "0.30.0"
PAUSE: Final = "3.10"
DEBIAN_SUITE: Final = "bookworm"
STOCK_NODE_IMAGE: Final = f"kindest/node:v{KUBERNETES}"


@dataclass(frozen=True, slots=True)
class GoProgram:
    """A main package of a Go module."""

    name: str
    module: str
    version: str
    package: str
    version_variable: str = ""

    @property
    def entry(self) -> str:
        return f"kube/bin/{self.name}-{self.version}"

    @property
    def linker_flags(self) -> str:
        stamp = f" -X {self.version_variable}=v{self.version}" if self.version_variable else ""
        return f"-s -w{stamp}"


def _kubernetes(name: str) -> GoProgram:
    return GoProgram(name, "k8s.io/kubernetes", KUBERNETES, f"k8s.io/kubernetes/cmd/{name}")


ETCD: Final = GoProgram("etcd", "go.etcd.io/etcd/server/v3", "3.5.21", "go.etcd.io/etcd/server/v3")
HELM: Final = GoProgram(
    "helm",
    "helm.sh/helm/v3",
    "3.19.0",
    "helm.sh/helm/v3/cmd/helm",
    "helm.sh/helm/v3/internal/version.version",
)
PROVISIONER: Final = GoProgram(
    "local-path-provisioner",
    "github.com/rancher/local-path-provisioner",
    "0.0.30",
    "github.com/rancher/local-path-provisioner",
)
# In the order in which they are wanted: the first two serve the tests of the operator alone, and
# the shared packages that they compile make the others quick.
PROGRAMS: Final = (
    ETCD,
    _kubernetes("kube-apiserver"),
    _kubernetes("kubectl"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kubelet"),
    _kubernetes("kubeadm"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kube-proxy"),
    GoProgram("kind", "sigs.k8s.io/kind", KIND, "sigs.k8s.io/kind"),
    GoProgram("coredns", "github.com/coredns/coredns", "1.12.1", "github.com/coredns/coredns"),
    PROVISIONER,
    HELM,
)
BY_NAME: Final = {program.name: program for program in PROGRAMS}
