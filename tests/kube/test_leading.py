"""Who leads, on a real Kubernetes API: the lease, and the whole process behind it."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.lease import Lease, LeaseTimes
from barnabas_operator.kube.paths import path_of
from barnabas_operator.process import serve
from barnabas_operator.settings import Settings
from tests.support.operator_lab import (
    CRDS,
    IMAGES,
    OperatorLab,
    connected,
    in_lab,
    small_cluster,
)
from tools.kube.apiserver import ApiServer
from tools.kube.local_process import free_ports

TIMES = LeaseTimes(lasts_ms=1_500, renew_deadline_ms=1_000, retry_ms=100)
DEADLINE_S = 60
_DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kafkatopics.barnabas.dev"


def run(path: Path, scenario: Callable[[Kube], Awaitable[None]]) -> None:
    async def go() -> None:
        kube = await connected(path)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await scenario(kube)
        finally:
            await kube.close()

    asyncio.run(go())


def lease(kube: Kube, namespace: str, holder: str) -> Lease:
    return Lease(kube, SystemClock(), (namespace, "lease"), holder, TIMES)


def test_one_of_two_holds_the_lease(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(kube: Kube) -> None:
        first, second = (lease(kube, kube_namespace, one) for one in ("first", "second"))

        await first.acquire()
        assert first.is_held
        assert not await second.try_once()
        assert not second.is_held

        await first.release()
        assert await second.try_once()
        assert not await first.try_once()

    run(kube_api.kubeconfig, scenario)


def test_a_lease_that_is_not_renewed_passes_on_after_its_holder_stopped(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(kube: Kube) -> None:
        first, second = (lease(kube, kube_namespace, one) for one in ("first", "second"))
        await first.acquire()

        await second.acquire()

        assert not first.is_held, "it stopped before another could begin"
        assert not await first.try_once()
        await first.keep()

    run(kube_api.kubeconfig, scenario)


def test_a_lease_that_is_renewed_is_kept(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(kube: Kube) -> None:
        first, second = (lease(kube, kube_namespace, one) for one in ("first", "second"))
        await first.acquire()
        keeping = asyncio.create_task(first.keep())

        for _ in range(25):
            assert not await second.try_once()
            await asyncio.sleep(0.1)

        assert first.is_held
        keeping.cancel()

    run(kube_api.kubeconfig, scenario)


def test_a_lease_that_may_not_be_written_any_more_is_left_to_its_end(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    """As when `helm uninstall` takes the rights away before the pod has ended."""

    class WithoutRights(Kube):
        are_gone = False

        async def get(self, path: str) -> Json | None:
            if self.are_gone:
                raise KubeError(403, "forbidden")
            return await super().get(path)

    async def scenario(kube: Kube) -> None:
        own = WithoutRights(kube._api)
        first, second = lease(own, kube_namespace, "first"), lease(kube, kube_namespace, "second")
        await first.acquire()
        own.are_gone = True

        await first.release()

        assert not first.is_held
        await second.acquire()

    run(kube_api.kubeconfig, scenario)


def test_the_process_leads_watches_and_lets_go(
    kube_api: ApiServer, kube_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kube_api.kubeconfig))
    (port,) = free_ports(1)

    async def scenario(lab: OperatorLab) -> None:
        await lab.kill()
        settings = Settings(
            namespaces=(lab.namespace,),
            own_namespace=lab.namespace,
            pod_name="operator-1",
            metrics_port=port,
        )
        end = asyncio.Event()
        process = asyncio.create_task(serve(settings, lab.kube, EventLog(level="error"), end))
        await lab.kube.create(
            f"/apis/barnabas.dev/v1alpha1/namespaces/{lab.namespace}/kafkaclusters",
            small_cluster(),
        )

        while not (await lab.status()).get("clusterId") or len(await lab.pods()) < 8:
            assert not process.done(), process
            await asyncio.sleep(0.1)
        metrics = await _get(port, "/metrics")
        assert "barnabas_operator_leads 1" in metrics
        assert "200 OK" in await _get(port, "/healthz")
        end.set()
        assert await process == 0

        held = await lab.kube.get(path_of("Lease", lab.namespace, "barnabas-operator"))
        assert held is not None
        assert held["spec"].get("holderIdentity", "") == ""

    in_lab(kube_api, kube_namespace, scenario)


def test_a_process_that_is_told_to_end_gives_up_its_lease(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    """kopf, which watches within it, would take the signal for itself."""
    (port,) = free_ports(1)
    told = {
        "KUBECONFIG": str(kube_api.kubeconfig),
        "POD_NAMESPACE": kube_namespace,
        "BARNABAS_NAMESPACES": kube_namespace,
        "BARNABAS_METRICS_PORT": str(port),
    }

    async def scenario(lab: OperatorLab) -> None:
        await lab.kill()
        at = path_of("Lease", lab.namespace, "barnabas-operator")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "barnabas_operator", env=os.environ | told
        )
        try:
            await _ready(port)
            # Once it acts, everything of it runs: also what watches.
            await lab.apply(small_cluster())
            while not (await lab.status()).get("clusterId"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            held = await lab.kube.get(at)
            assert held is not None
            assert held["spec"]["holderIdentity"] == "barnabas-operator"
        finally:
            process.terminate()
            status = await process.wait()

        assert status == 0
        free = await lab.kube.get(at)
        assert free is not None
        assert free["spec"].get("holderIdentity", "") == ""

    in_lab(kube_api, kube_namespace, scenario)


def test_a_standby_is_ready_and_nobody_is_without_the_definitions(
    kube_api: ApiServer, kube_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kube_api.kubeconfig))
    ports = free_ports(2)

    async def scenario(lab: OperatorLab) -> None:
        await lab.kill()
        end = asyncio.Event()
        processes = []
        for number, port in enumerate(ports):
            settings = Settings((lab.namespace,), lab.namespace, f"operator-{number}", IMAGES, port)
            running = serve(settings, lab.kube, EventLog(level="error"), end)
            processes.append(asyncio.create_task(running))
            await _ready(port)
        assert "barnabas_operator_leads 0" in await _get(ports[1], "/metrics")

        await lab.kube.merge(_DEFINITION, {"spec": {"versions": _versions(is_served=False)}})
        try:
            for port in ports:
                while "503" not in (told := await _get(port, "/readyz")):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                assert "there is no definition of KafkaTopic" in told
                assert "200 OK" in await _get(port, "/healthz"), "a restart would not help"
        finally:
            await lab.kube.merge(_DEFINITION, {"spec": {"versions": _versions(is_served=True)}})
        for port in ports:
            await _ready(port)
        end.set()
        assert await asyncio.gather(*processes) == [0, 0]

    in_lab(kube_api, kube_namespace, scenario)


def _versions(*, is_served: bool) -> list[Json]:
    definition = yaml.safe_load((CRDS / "kafkatopics.yaml").read_text())
    return [{**one, "served": is_served} for one in definition["spec"]["versions"]]


async def _ready(port: int) -> None:
    while True:
        try:
            if "200 OK" in await _get(port, "/readyz"):
                return
        except OSError:
            pass
        await asyncio.sleep(0.1)


async def _get(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    found = await reader.read()
    writer.close()
    return found.decode()
