"""What nodes do for pods, as far as an operator sees it: pods run, become ready, and end.

    hosts     three, in three zones; pods are bound to one by their number
    pods      ready after a moment, unless their image cannot be pulled; gone a moment after they
              were told to go
    volumes   bound, as large as asked for

Everything happens through the real API, by whoever calls `turn`; nothing happens behind a test.
"""

import asyncio
from typing import Final

from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection, path_of

BAD_TAG: Final = ":bad"
ZONE: Final = "topology.kubernetes.io/zone"
_GONE: Final = 404


class SmallKubelet:
    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self.hosts = [f"{namespace}-host-{one}" for one in range(3)]
        self.stopped: set[str] = set()
        """Pods that are held back from being ready."""
        self.started: list[str] = []
        """Uids, in the order in which they became ready."""
        self.pods: dict[str, Json] = {}

    async def make_hosts(self) -> None:
        for number, name in enumerate(self.hosts):
            labels = {ZONE: f"zone-{number}", "kubernetes.io/hostname": name}
            host = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
            }
            await self._kube.create(collection("Node"), host)
            address = {"type": "InternalIP", "address": f"10.1.0.{number + 1}"}
            path = path_of("Node", None, name)
            await self._kube.merge(f"{path}/status", {"status": {"addresses": [address]}})

    async def remove_hosts(self) -> None:
        for name in self.hosts:
            host = await self._kube.get(path_of("Node", None, name))
            if host is not None:
                await self._kube.delete(path_of("Node", None, name), host["metadata"]["uid"])

    async def run(self) -> None:
        while True:
            await self.turn()
            await asyncio.sleep(0.1)

    async def turn(self) -> None:
        pods = await self._kube.list(collection("Pod", self._namespace))
        for pod in pods:
            try:
                await self._turn_pod(pod)
            except KubeError as error:
                if error.status != _GONE:
                    raise
        for claim in await self._kube.list(collection("PersistentVolumeClaim", self._namespace)):
            await self._turn_claim(claim)
        self.pods = {one["metadata"]["name"]: one for one in pods}

    @property
    def ready(self) -> set[str]:
        return {name for name, pod in self.pods.items() if is_ready(pod)}

    async def _turn_pod(self, pod: Json) -> None:
        name = pod["metadata"]["name"]
        path = path_of("Pod", self._namespace, name)
        if "deletionTimestamp" in pod["metadata"]:
            await self._end(path, pod)
        elif not pod["spec"].get("nodeName"):
            await self._bind(path, name)
        elif pod["spec"]["containers"][0]["image"].endswith(BAD_TAG):
            await self._set(path, pod, is_ready=False, waiting="ImagePullBackOff")
        elif name in self.stopped:
            await self._set(path, pod, is_ready=False)
        elif not is_ready(pod):
            await self._set(path, pod, is_ready=True)
            self.started.append(pod["metadata"]["uid"])

    async def _bind(self, path: str, name: str) -> None:
        host = self.hosts[int(name.rpartition("-")[2]) % len(self.hosts)]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": host},
        }
        await self._kube.create(f"{path}/binding", binding)

    async def _end(self, path: str, pod: Json) -> None:
        if is_ready(pod):
            await self._set(path, pod, is_ready=False)
            return
        await self._kube.delete(path, pod["metadata"]["uid"], grace_s=0)

    async def _set(self, path: str, pod: Json, *, is_ready: bool, waiting: str = "") -> None:
        word = "True" if is_ready else "False"
        state: Json = {"running": {}}
        if waiting:
            state = {"waiting": {"reason": waiting}}
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "ready": is_ready,
            "restartCount": 0,
            "image": pod["spec"]["containers"][0]["image"],
            "imageID": "",
            "state": state,
        }
        wanted = {
            "phase": "Pending" if waiting else "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": word},
            ],
            "containerStatuses": [container],
        }
        if _told(pod) != (word, waiting):
            await self._kube.merge(f"{path}/status", {"status": wanted})

    async def _turn_claim(self, claim: Json) -> None:
        if "deletionTimestamp" in claim["metadata"]:
            await self._let_go(claim)
            return
        asked = claim["spec"]["resources"]["requests"]["storage"]
        if claim.get("status", {}).get("capacity", {}).get("storage") == asked:
            return
        path = path_of("PersistentVolumeClaim", self._namespace, claim["metadata"]["name"])
        status = {"phase": "Bound", "capacity": {"storage": asked}}
        await self._kube.merge(f"{path}/status", {"status": status})

    async def _let_go(self, claim: Json) -> None:
        """No pod uses it any more, says Kubernetes' own finalizer."""
        path = path_of("PersistentVolumeClaim", self._namespace, claim["metadata"]["name"])
        try:
            await self._kube.merge(path, {"metadata": {"finalizers": None}})
        except KubeError as error:
            if error.status != _GONE:
                raise


def is_ready(pod: Json) -> bool:
    if "deletionTimestamp" in pod["metadata"] and _told(pod)[0] != "True":
        return False
    return _told(pod)[0] == "True"


def _told(pod: Json) -> tuple[str, str]:
    status = pod.get("status") or {}
    ready = [one for one in status.get("conditions") or () if one["type"] == "Ready"]
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    waiting = states[0].get("waiting", {}).get("reason", "") if states else ""
    return (ready[0]["status"] if ready else ""), waiting
