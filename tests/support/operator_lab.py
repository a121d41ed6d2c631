"""An operator, a small kubelet and a model of a cluster on a real Kubernetes API."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Final, Self

import yaml
from kubernetes.aio import config as kube_config
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection, path_of
from barnabas_operator.service import OperatorService
from barnabas_operator.specs.blueprint import Blueprint, Images
from tests.support.model_port import ModelPort
from tests.support.small_kubelet import SmallKubelet, is_ready
from tools.kube.apiserver import ApiServer

DEADLINE_S: Final = 240.0
CLUSTER: Final = "events"
_CONFLICT: Final = 409
CRDS: Final = Path(__file__).parents[2] / "manifests" / "crds"
IMAGES: Final = Images(tag="v1")


def small_cluster(**changes: object) -> Json:
    spec = {
        "controllers": {"replicas": 3, "storage": {"size": "1Gi"}},
        "brokers": [{"name": "main", "replicas": 3, "storage": [{"size": "1Gi"}]}],
        "coordinators": {"group": {"replicas": 2}},
    }
    return {
        "apiVersion": "barnabas.dev/v1alpha1",
        "kind": "KafkaCluster",
        "metadata": {"name": CLUSTER},
        "spec": {**spec, **changes},
    }


def topic(name: str, **spec: object) -> Json:
    return {
        "apiVersion": "barnabas.dev/v1alpha1",
        "kind": "KafkaTopic",
        "metadata": {"name": name},
        "spec": {"clusterRef": {"name": CLUSTER}, **spec},
    }


async def connected(kubeconfig: Path) -> Kube:
    configuration = Configuration()
    await kube_config.load_kube_config(  # type: ignore[no-untyped-call]
        str(kubeconfig), client_configuration=configuration
    )
    return Kube(ApiClient(configuration))


class OnePort:
    """The way to every cluster."""

    def __init__(self, port: ModelPort) -> None:
        self._port = port

    def of(self, _: Blueprint) -> ModelPort:
        return self._port

    async def close(self, namespace: str, name: str) -> None:
        """The model stays: it has no links."""


class OperatorLab:
    def __init__(self, server: ApiServer, namespace: str) -> None:
        self._server = server
        self.namespace = namespace
        self.said = StringIO()
        self.log = EventLog(level="warning", stream=self.said)

    async def __aenter__(self) -> Self:
        self.kube = await connected(self._server.kubeconfig)
        await self._install()
        self.kubelet = SmallKubelet(self.kube, self.namespace)
        await self.kubelet.make_hosts()
        self.port = ModelPort(self.kubelet, CLUSTER)
        self._nodes = asyncio.create_task(self.kubelet.run())
        self._operator: asyncio.Task[None] | None = None
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()
        self._nodes.cancel()
        with suppress(asyncio.CancelledError):
            await self._nodes
        await self.kubelet.remove_hosts()
        await self.kube.close()

    async def _install(self) -> None:
        for path in sorted(CRDS.glob("*.yaml")):
            manifest = yaml.safe_load(path.read_text())
            name = manifest["metadata"]["name"]
            at = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
            await self.kube.apply(at, manifest)
            while not _is_established(await self.kube.get(at)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    def start(self) -> None:
        """An operator; it knows nothing of one that was there before."""
        self.service = OperatorService(
            self.kube,
            OnePort(self.port),
            IMAGES,
            (SystemClock(), SystemRng(), self.log),
            namespaces=(self.namespace,),
        )
        self._operator = asyncio.create_task(self.service.run())

    async def kill(self) -> None:
        if self._operator is not None:
            self._operator.cancel()
            with suppress(asyncio.CancelledError):
                await self._operator
            self._operator = None

    # --- objects

    async def apply(self, manifest: Json) -> None:
        """As a user does; whoever watches is told."""
        name = manifest["metadata"]["name"]
        namespace = manifest["metadata"].get("namespace", self.namespace)
        path = path_of(manifest["kind"], namespace, name)
        while not await self._replaced(path, namespace, manifest):
            pass
        self.poke(manifest["kind"], name)

    async def _replaced(self, path: str, namespace: str, manifest: Json) -> bool:
        """False if the operator wrote in the same moment."""
        found = await self.kube.get(path)
        if found is None:
            await self.kube.create(collection(manifest["kind"], namespace), manifest)
            return True
        metadata = {**found["metadata"], **manifest["metadata"]}
        try:
            await self.kube.replace(path, {**found, **manifest, "metadata": metadata})
        except KubeError as error:
            if error.status != _CONFLICT:
                raise
            return False
        return True

    async def remove(self, kind: str, name: str) -> None:
        path = path_of(kind, self.namespace, name)
        found = await self.kube.get(path)
        assert found is not None
        await self.kube.delete(path, found["metadata"]["uid"])
        self.poke(kind, name)

    def poke(self, kind: str, name: str) -> None:
        if kind == "KafkaTopic":
            self.service.on_topic(self.namespace, CLUSTER)
        else:
            self.service.on_cluster(self.namespace, name)

    async def get(self, kind: str, name: str) -> Json | None:
        return await self.kube.get(path_of(kind, self.namespace, name))

    async def list(self, kind: str) -> list[Json]:
        return await self.kube.list(collection(kind, self.namespace))

    async def status(self, kind: str = "KafkaCluster", name: str = CLUSTER) -> Json:
        found = await self.get(kind, name)
        return (found or {}).get("status") or {}

    async def pods(self) -> dict[str, Json]:
        return {one["metadata"]["name"]: one for one in await self.list("Pod")}

    async def describe(self) -> str:
        """For whoever waited in vain."""
        status = await self.status()
        lines = [
            f"{one['type']}={one['status']} {one['reason']}: {one['message']}"
            for one in status.pop("conditions", [])
        ]
        pods = [f"{name} ready={is_ready(pod)}" for name, pod in (await self.pods()).items()]
        return "\n".join(["it never came", *lines, str(status), *pods, self.said.getvalue()])

    # --- waiting

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Pokes all the time, as events would."""
        while not await holds():
            self.service.on_cluster(self.namespace, CLUSTER)
            await asyncio.sleep(0.2)

    async def until_condition(
        self, name: str, word: str = "True", *, kind: str = "KafkaCluster", of: str = CLUSTER
    ) -> Json:
        async def holds() -> bool:
            found = await self.get(kind, of)
            if found is None:
                return False
            status = found.get("status") or {}
            is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return is_seen and condition(status, name).get("status") == word

        await self.until(holds)
        return condition(await self.status(kind, of), name)


def _is_established(definition: Json | None) -> bool:
    return condition((definition or {}).get("status") or {}, "Established").get("status") == "True"


def condition(status: Json, name: str) -> Json:
    return next((one for one in status.get("conditions") or () if one["type"] == name), {})


def in_lab(
    server: ApiServer, namespace: str, scenario: Callable[[OperatorLab], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with OperatorLab(server, namespace) as lab:
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await scenario(lab)
            except TimeoutError:
                raise AssertionError(await lab.describe()) from None

    asyncio.run(run())
