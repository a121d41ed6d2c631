"""A round that goes on after its operator lost the lease changes nothing any more.

As when the process was frozen in the middle of it: another operator has acted meanwhile, and what
this one saw is old.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

from barnabas_operator.health.cluster_port import ClusterView, SilentCluster
from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.plan.observed import QuorumState
from barnabas_operator.plan.topic_state import DeleteTopic, TopicAction, TopicState
from barnabas_operator.reconcile.topics import FINALIZER, ClusterOfTopics, reconcile_topics
from tests.support.manual_clock import ManualClock

PATH = "/api/v1/namespaces/space/pods/one"


class Answering:
    """A server that has every object, and notes the verbs."""

    def __init__(self) -> None:
        self.verbs: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.verbs.append(head.split()[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        writer.close()


def _writes(kube: Kube) -> list[Callable[[], Any]]:
    return [
        lambda: kube.apply(PATH, {}),
        lambda: kube.create(PATH, {}),
        lambda: kube.replace(PATH, {}),
        lambda: kube.merge(PATH, {}),
    ]


def test_no_verb_but_get_reaches_kubernetes() -> None:
    async def scenario() -> None:
        answering = Answering()
        server = await asyncio.start_server(answering.serve, "127.0.0.1")
        host, port = server.sockets[0].getsockname()
        api = ApiClient(Configuration(host=f"http://{host}:{port}"))
        leads = [True]
        free = Kube(api)
        kube = free.while_allowed(lambda: bool(leads))
        try:
            await kube.merge(PATH, {})
            assert await kube.delete(PATH, "uid")
            leads.clear()
            for write in _writes(kube):
                with pytest.raises(KubeError, match="another operator may lead"):
                    await write()
            assert not await kube.delete(PATH, "uid")
            await kube.get(PATH)
            # What keeps the lease is not held up by its loss.
            await free.merge(PATH, {})
        finally:
            await free.close()
            server.close()

        assert answering.verbs == ["PATCH", "DELETE", "GET", "PATCH"]

    asyncio.run(scenario())


class OneTopic(SilentCluster):
    """It has the topic `orders`; `on_view` happens while it is asked for it."""

    def __init__(self, on_view: Callable[[], None]) -> None:
        self._on_view = on_view
        self.done: list[TopicAction] = []

    async def view(self) -> ClusterView:
        self._on_view()
        topic = TopicState(partitions=(), config={})
        return ClusterView(QuorumState(1, (), ()), {}, {"orders": topic}, {}, {}, {}, {})

    async def carry_out_topics(self, actions: Sequence[TopicAction]) -> Mapping[str, str]:
        self.done += actions
        return {}


class Unwritten(Kube):
    def __init__(self) -> None:
        pass

    async def merge(self, path: str, change: Mapping[str, Any]) -> Json:
        raise KubeError(409, path)


def _deleted() -> Json:
    return {
        "metadata": {
            "namespace": "space",
            "name": "orders",
            "uid": "uid-1",
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-01T00:00:01Z",
            "finalizers": [FINALIZER],
        },
        "spec": {"clusterRef": {"name": "events"}},
    }


@pytest.mark.parametrize("loses", [False, True])
def test_the_topic_of_a_deleted_resource_goes_only_while_the_lease_is_held(loses: bool) -> None:
    leads = [True]
    port = OneTopic(leads.clear if loses else lambda: None)
    tools: Any = SimpleNamespace(
        kube=Unwritten(), clock=ManualClock(), is_leader=lambda: bool(leads)
    )

    asyncio.run(reconcile_topics(tools, ClusterOfTopics("space", port=port), [_deleted()]))

    assert port.done == ([] if loses else [DeleteTopic("orders")])
