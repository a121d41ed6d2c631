"""One real Kubernetes API for the tests of this folder (docs/testing-kubernetes.md)."""

from tests.support.kubernetes_api import kube_api, kube_namespace

__all__ = ["kube_api", "kube_namespace"]
