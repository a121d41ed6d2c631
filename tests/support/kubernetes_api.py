"""A real Kubernetes API for tests: etcd and kube-apiserver on loopback, one for the session.

    def test_a_shrinking_pool_is_refused(kube_api: ApiServer, kube_namespace: str) -> None:
        kube_api.kubectl("apply", "-n", kube_namespace, "-f", "-", stdin=manifest)

There are no nodes, so pods stay Pending until a test writes their status. StatefulSets, Deployments
and Jobs make their pods, owners take their children with them, and namespaces really end: those of
kube-controller-manager's controllers that need no nodes run behind it.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.support.external import obtain
from tools.fetch import CannotFetch
from tools.kube.apiserver import CONTROLLERS, ApiServer
from tools.kube.preflight import missing_for_apiserver

_numbers = count(1)


@pytest.fixture(scope="session")
def kube_api(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    def start() -> ApiServer:
        missing = missing_for_apiserver()
        if missing:
            raise CannotFetch(f"a Kubernetes API lacks {'; '.join(missing)}")
        server = ApiServer(tmp_path_factory.mktemp("kubernetes"), CONTROLLERS)
        server.start()
        return server

    server = obtain(request, start)
    yield server
    server.stop()


@pytest.fixture
def kube_namespace(kube_api: ApiServer) -> Iterator[str]:
    """A namespace of the test's own; that it ends is not waited for."""
    name = f"test-{next(_numbers)}"
    kube_api.kubectl("create", "namespace", name)
    yield name
    kube_api.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
