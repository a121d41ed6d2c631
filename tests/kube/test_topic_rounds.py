"""KafkaTopics on a real Kubernetes API: from any namespace, in batches, and without wedging."""

import asyncio
import os
import sys
from dataclasses import replace

import pytest

from barnabas_operator.kube.paths import path_of
from barnabas_operator.plan import topics
from tests.support.operator_lab import (
    CLUSTER,
    OperatorLab,
    condition,
    in_lab,
    small_cluster,
    topic,
)
from tools.kube.apiserver import ApiServer

FINALIZER = "barnabas.dev/topic"
RELEASE = ("-m", "barnabas_operator.release_topics")


async def ready(lab: OperatorLab, name: str, word: str = "True") -> str:
    """The reason."""
    found = await until_ready(lab, name, word)
    return str(found["reason"])


async def until_ready(lab: OperatorLab, name: str, word: str) -> dict[str, str]:
    return await lab.until_condition("Ready", word, kind="KafkaTopic", of=name)


def test_a_topic_is_made_changed_and_taken_along(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")

        await lab.apply(topic("orders", partitions=2, replicas=3, config={"retention.ms": 1000}))
        await ready(lab, "orders")
        status = await lab.status("KafkaTopic", "orders")
        assert (status["partitions"], status["replicas"]) == (2, 3)
        assert lab.port.topics["orders"].config == {"retention.ms": "1000"}

        await lab.apply(topic("orders", partitions=4, replicas=2, config={"retention.ms": 5}))
        await ready(lab, "orders")
        made = lab.port.topics["orders"]
        assert len(made.partitions) == 4
        assert {len(one.replicas) for one in made.partitions} == {2}
        assert made.config == {"retention.ms": "5"}

        lab.port.topics["orders"] = replace(made, config={"retention.ms": "9"})
        lab.poke("KafkaTopic", "orders")

        async def is_corrected() -> bool:
            return lab.port.topics["orders"].config == {"retention.ms": "5"}

        await lab.until(is_corrected)
        await lab.remove("KafkaTopic", "orders")

        async def is_gone() -> bool:
            return await lab.get("KafkaTopic", "orders") is None

        await lab.until(is_gone)
        assert "orders" not in lab.port.topics

    in_lab(kube_api, kube_namespace, scenario)


def test_a_retained_topic_stays_and_has_no_finalizer(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("kept", deletionPolicy="Retain"))
        await ready(lab, "kept")
        found = await lab.get("KafkaTopic", "kept")
        assert found is not None
        assert "finalizers" not in found["metadata"]

        await lab.remove("KafkaTopic", "kept")

        assert await lab.get("KafkaTopic", "kept") is None
        assert "kept" in lab.port.topics

    in_lab(kube_api, kube_namespace, scenario)


def test_the_oldest_has_the_name(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("first", topicName="orders", partitions=2))
        await ready(lab, "first")
        # Kubernetes writes moments in whole seconds.
        await asyncio.sleep(1.1)
        await lab.apply(topic("second", topicName="orders", partitions=9))

        found = await until_ready(lab, "second", "False")

        assert found["reason"] == "NameConflict"
        assert "first" in found["message"]
        assert len(lab.port.topics["orders"].partitions) == 2
        await lab.remove("KafkaTopic", "second")
        assert "orders" in lab.port.topics

    in_lab(kube_api, kube_namespace, scenario)


def test_a_topic_whose_cluster_is_gone_is_let_go(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("orders"))
        await ready(lab, "orders")
        found = await lab.get("KafkaTopic", "orders")
        assert found is not None
        assert found["metadata"]["finalizers"] == [FINALIZER]

        await lab.remove("KafkaCluster", CLUSTER)
        await lab.remove("KafkaTopic", "orders")

        async def is_gone() -> bool:
            return await lab.get("KafkaTopic", "orders") is None

        await lab.until(is_gone)

    in_lab(kube_api, kube_namespace, scenario)


def test_a_topic_whose_cluster_does_not_answer_is_let_go_in_time(
    kube_api: ApiServer, kube_namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "DELETION_MS_MAX", 3_000)

    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("orders"))
        await ready(lab, "orders")
        lab.port.is_silent = True

        await lab.remove("KafkaTopic", "orders")
        assert await lab.get("KafkaTopic", "orders") is not None

        async def is_gone() -> bool:
            return await lab.get("KafkaTopic", "orders") is None

        await lab.until(is_gone)
        events = [one for one in await lab.list("Event") if one["reason"] == "TopicLeft"]
        assert [one["type"] for one in events] == ["Warning"]

    in_lab(kube_api, kube_namespace, scenario)


def test_what_the_chart_does_at_its_end_lets_topics_go_without_an_operator(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    variables = {
        **os.environ,
        "KUBECONFIG": str(kube_api.kubeconfig),
        "POD_NAMESPACE": kube_namespace,
        "BARNABAS_NAMESPACES": kube_namespace,
    }

    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("orders"))
        await ready(lab, "orders")
        await lab.kill()

        running = await asyncio.create_subprocess_exec(sys.executable, *RELEASE, env=variables)
        assert await running.wait() == 0
        await lab.remove("KafkaTopic", "orders")

        assert await lab.get("KafkaTopic", "orders") is None
        assert "orders" in lab.port.topics

    in_lab(kube_api, kube_namespace, scenario)


def test_a_namespace_ends_with_everything_in_it(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.apply(topic("orders"))
        await ready(lab, "orders")
        path = path_of("Namespace", None, lab.namespace)
        namespace = await lab.kube.get(path)
        assert namespace is not None

        await lab.kube.delete(path, namespace["metadata"]["uid"])

        async def is_gone() -> bool:
            return await lab.kube.get(path) is None

        await lab.until(is_gone)

    in_lab(kube_api, kube_namespace, scenario)


def test_many_topics_take_few_requests(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await lab.kill()
        for number in range(100):
            await lab.apply(topic(f"topic-{number}", partitions=1, replicas=3))
        lab.port.topic_requests = 0

        lab.start()

        async def are_ready() -> bool:
            topics = await lab.list("KafkaTopic")
            words = [condition(one.get("status") or {}, "Ready").get("status") for one in topics]
            return words == ["True"] * 100

        await lab.until(are_ready)
        assert lab.port.topic_requests <= 5

    in_lab(kube_api, kube_namespace, scenario)


def test_what_the_cluster_refuses_is_told(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await lab.apply(topic("wide", replicas=9))

        found = await until_ready(lab, "wide", "False")
        while found["reason"] != "RefusedByCluster":
            await asyncio.sleep(0.2)
            found = await until_ready(lab, "wide", "False")

        assert "INVALID_REPLICATION_FACTOR" in found["message"]

    in_lab(kube_api, kube_namespace, scenario)
