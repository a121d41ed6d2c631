"""`python -m barnabas_operator.release_topics`: the operator's finalizer off all KafkaTopics.

The chart runs it after its uninstall, when the operator has gone for good.

Nobody is left to delete topics with their resources: otherwise neither these resources nor their
namespaces could be deleted. The topics stay, and a new operator takes them up again. The lease is
taken first, so that nobody puts the finalizers back meanwhile.
"""

import asyncio
import os

from barnabas_core.runtime.clock import SystemClock
from barnabas_operator.install.rules import LEASE
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.lease import Lease
from barnabas_operator.kube.paths import collection, path_of
from barnabas_operator.process import connect
from barnabas_operator.reconcile.topics import FINALIZER
from barnabas_operator.settings import Settings

PATIENCE_S = 90
TRIES = 5


async def release_all(kube: Kube, settings: Settings) -> int:
    """How many were released."""
    lease = Lease(kube, SystemClock(), (settings.own_namespace, LEASE), settings.pod_name)
    async with asyncio.timeout(PATIENCE_S):
        await lease.acquire()
    count = 0
    for namespace in settings.namespaces or (None,):
        for topic in await topics(kube, namespace):
            count += await release(kube, topic)
    await lease.release()
    return count


async def topics(kube: Kube, namespace: str | None) -> list[Json]:
    try:
        return await kube.list(collection("KafkaTopic", namespace))
    except KubeError as error:
        if error.status == 404:  # not defined: there are none
            return []
        raise


async def release(kube: Kube, topic: Json) -> bool:
    path = path_of("KafkaTopic", topic["metadata"]["namespace"], topic["metadata"]["name"])
    for _ in range(TRIES):
        metadata = topic["metadata"]
        others = [one for one in metadata.get("finalizers") or [] if one != FINALIZER]
        if len(others) == len(metadata.get("finalizers") or []):
            return False
        change = {"resourceVersion": metadata["resourceVersion"], "finalizers": others or None}
        try:
            await kube.merge(path, {"metadata": change})
        except KubeError as error:
            if error.status not in (404, 409):
                raise
        else:
            return True
        newer = await kube.get(path)
        if newer is None:
            return False
        topic = newer
    return False


async def main() -> None:
    kube = await connect(os.environ)
    try:
        count = await release_all(kube, Settings.from_environment(os.environ))
    finally:
        await kube.close()
    print(f"{count} KafkaTopics have no finalizer any more; their topics stay")


if __name__ == "__main__":
    asyncio.run(main())
