"""A real Kubernetes on a bare machine: built from source, kept in the cache, taken down whole.

    python -m tools.kube preflight      what this machine lacks, by name
    python -m tools.kube build          every program and image, ahead of time
    python -m tools.kube apiserver      etcd and kube-apiserver alone, on loopback
    python -m tools.kube up | down      a kind cluster with three workers in three zones

Where node images can be pulled, kind's own are used; elsewhere programs come from the Go module
proxy and Debian's packages (docs/design/0024-kubernetes-tier.md).
"""
