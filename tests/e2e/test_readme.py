"""The README's section on Kubernetes, followed word for word on a cluster that knows nothing of us.

It runs first (conftest.py): what else needs the operator installs it after this.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.kind_lab import KindLab
from tools.kube.go_build import program
from tools.kube.kind_cluster import NAME

TREE = Path(__file__).parents[2]
TIMEOUT_S = 900.0


@pytest.mark.smoke
def test_what_the_readme_says_works_as_it_is_written(lab: KindLab, tmp_path: Path) -> None:
    """With kind, helm and kubectl on the path, and a shell that stops at the first failure."""
    for name in ("kind", "helm", "kubectl"):
        (tmp_path / name).symlink_to(program(name))
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = lab.cluster.environment | {"PATH": path, "KIND_CLUSTER_NAME": NAME}
    try:
        done = subprocess.run(
            ["bash", "-euxc", steps()],
            cwd=TREE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done.stdout
        # The last command tells how the cluster is.
        assert "default/demo: ready (1 of 1 brokers are ready)" in done.stdout, done.stdout
    finally:
        lab.cluster.kubectl("delete", "kafkacluster", "demo", "--ignore-not-found")
        lab.cluster.kubectl("delete", "pvc", "--all")
        lab.cluster.helm(
            "uninstall", "barnabas", "--namespace=barnabas-system", "--ignore-not-found", "--wait"
        )


def steps() -> str:
    section = (TREE / "README.md").read_text().partition("\n## On Kubernetes\n")[2]
    return section.partition("```sh\n")[2].partition("```")[0]
