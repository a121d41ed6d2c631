"""An operator is ready while Kubernetes answers and knows the resources, whoever leads."""

import asyncio

from barnabas_operator.kube.client import Kube, KubeError
from barnabas_operator.kube.reach import Reach
from tests.support.manual_clock import ManualClock


class Asked(Kube):
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.error: KubeError | None = None

    async def peek(self, path: str, *, timeout_s: float = 30.0) -> None:
        self.paths.append(path)
        if self.error is not None:
            raise self.error


def test_it_is_ready_once_both_kinds_could_be_listed() -> None:
    kube = Asked()
    reach = Reach(kube, ManualClock())
    assert reach.reason_not_ready() == "Kubernetes has not been asked yet"

    asyncio.run(reach.ask())

    assert reach.reason_not_ready() is None
    assert kube.paths == [
        "/apis/barnabas.dev/v1alpha1/kafkaclusters",
        "/apis/barnabas.dev/v1alpha1/kafkatopics",
    ]


def test_it_asks_where_it_has_rights() -> None:
    kube = Asked()

    asyncio.run(Reach(kube, ManualClock(), ("a", "b")).ask())

    assert len(kube.paths) == 4
    assert all("/namespaces/" in path for path in kube.paths)


def test_a_missing_definition_is_named() -> None:
    kube = Asked()
    reach = Reach(kube, ManualClock())
    asyncio.run(reach.ask())

    kube.error = KubeError(404, "GET ...: 404")
    asyncio.run(reach.ask())

    assert reach.reason_not_ready() == "there is no definition of KafkaCluster: apply it"


def test_an_api_that_cannot_be_reached_is_told_and_forgotten_when_it_can() -> None:
    kube = Asked()
    reach = Reach(kube, ManualClock())
    kube.error = KubeError(0, "GET ...: no answer")
    asyncio.run(reach.ask())
    assert reach.reason_not_ready() == "GET ...: no answer"

    kube.error = None
    asyncio.run(reach.ask())

    assert reach.reason_not_ready() is None


def test_an_old_answer_is_none() -> None:
    clock = ManualClock()
    reach = Reach(Asked(), clock)
    asyncio.run(reach.ask())

    clock.advance(30_001)

    assert reach.reason_not_ready() == "Kubernetes has not answered for 30 s"
