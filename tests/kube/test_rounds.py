"""Rounds of the operator on a real Kubernetes API: from a manifest to Stable, and what follows."""

import asyncio

from barnabas_operator.kube.client import Json
from barnabas_operator.plan.actions import AddVoter, Cordon, Reassign, RemoveVoter, UnregisterBroker
from tests.support.operator_lab import CLUSTER, OperatorLab, condition, in_lab, small_cluster
from tools.kube.apiserver import ApiServer

CHILDREN = ("StatefulSet", "Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy")


def test_a_manifest_becomes_a_stable_cluster(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")

        status = await lab.status()
        assert status["clusterId"]
        assert status["quorumFormed"]
        assert status["ready"] == {"brokers": "3/3", "controllers": "3/3", "coordinators": "2/2"}
        assert status["listeners"][0]["bootstrapServers"].endswith(".svc:9092")
        assert {pool["name"]: pool["firstNodeId"] for pool in status["pools"]} == {
            "main": 0,
            "controllers": 100_000,
            "group": 200_000,
        }
        assert len(await lab.list("StatefulSet")) == 3
        assert len(await lab.pods()) == 8

    in_lab(kube_api, kube_namespace, scenario)


def test_the_first_thing_that_is_seen_is_unknown(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.kill()
        await lab.apply(small_cluster())

        status = await lab.status()

        assert {one["status"] for one in status["conditions"]} == {"Unknown"}

    in_lab(kube_api, kube_namespace, scenario)


def test_at_rest_nothing_is_written(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await _rounds(lab, 3)
        before, writes = await _versions(lab), lab.service.figures.writes

        await _rounds(lab, 5)

        assert await _versions(lab) == before
        assert lab.service.figures.writes == writes

    in_lab(kube_api, kube_namespace, scenario)


async def _rounds(lab: OperatorLab, count: int) -> None:
    """As many full ones from now on."""
    for _ in range(count):
        done = lab.service.clusters.count
        while lab.service.clusters.count < done + 1:
            lab.poke("KafkaCluster", CLUSTER)
            await asyncio.sleep(0.05)


async def _versions(lab: OperatorLab) -> dict[str, str]:
    found = [one for kind in (*CHILDREN, "Pod", "KafkaCluster") for one in await lab.list(kind)]
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in found}


def test_a_new_operator_writes_nothing_either(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await _rounds(lab, 3)
        before = await _versions(lab)

        await lab.kill()
        lab.start()
        await _rounds(lab, 3)

        assert await _versions(lab) == before

    in_lab(kube_api, kube_namespace, scenario)


def test_what_somebody_changed_is_changed_back(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        path = f"/api/v1/namespaces/{lab.namespace}/services/{CLUSTER}-main"
        await lab.kube.merge(path, {"spec": {"publishNotReadyAddresses": False}})

        async def is_back() -> bool:
            service = await lab.kube.get(path)
            return bool(service and service["spec"].get("publishNotReadyAddresses"))

        await lab.until(is_back)

    in_lab(kube_api, kube_namespace, scenario)


def test_a_roll_replaces_every_pod_and_tells_of_each_step(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        lab.port.add_topic("t", 6, 0, 1, 2)
        before = {name: pod["metadata"]["uid"] for name, pod in (await lab.pods()).items()}

        await lab.apply(small_cluster(version="v2"))
        steps = await _watch_roll(lab)

        after = {name: pod["metadata"]["uid"] for name, pod in (await lab.pods()).items()}
        assert before.keys() == after.keys()
        assert not set(before.values()) & set(after.values()), "every pod is another one"
        assert steps == sorted(steps)
        assert len(set(steps)) >= 6
        status = await lab.status()
        assert "rollout" not in status
        assert status["version"] == "v2"
        _check_order(lab, after)

    in_lab(kube_api, kube_namespace, scenario)


async def _watch_roll(lab: OperatorLab) -> list[int]:
    """How many pods were up to date, step by step, until it is over."""
    steps: list[int] = []

    async def is_over() -> bool:
        status = await lab.status()
        if "rollout" in status:
            steps.append(status["rollout"]["updated"])
            assert condition(status, "Stable")["status"] != "True"
        return condition(status, "Stable").get("status") == "True" and bool(steps)

    await lab.until(is_over)
    return [one for place, one in enumerate(steps) if not place or steps[place - 1] != one]


def _check_order(lab: OperatorLab, pods: dict[str, str]) -> None:
    """Controllers, coordinators, brokers; the leader (the lowest here) last of its kind."""
    names = {uid: name for name, uid in pods.items()}
    order = [names[uid] for uid in lab.kubelet.started if uid in names]
    ranks = [("controllers", "group", "main").index(name.split("-")[1]) for name in order]
    assert ranks == sorted(ranks), order


def test_a_bad_image_stops_after_one_pod_and_is_mended(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")

        await lab.apply(small_cluster(version="bad"))
        degraded = await lab.until_condition("Degraded")

        assert "ImagePullBackOff" in degraded["message"]
        await _rounds(lab, 5)
        assert sum(_image(one).endswith(":bad") for one in (await lab.pods()).values()) == 1
        status = await lab.status()
        assert condition(status, "Stalled")["status"] == "True"
        assert any("ImagePullBackOff" in one for one in status["rollout"]["blockedBy"])
        await lab.apply(small_cluster(version="v3"))
        await lab.until_condition("Stable")
        assert {_image(one).rpartition(":")[2] for one in (await lab.pods()).values()} == {"v3"}

    in_lab(kube_api, kube_namespace, scenario)


def _image(pod: Json) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def test_an_operator_that_dies_in_a_roll_is_followed_by_another(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await lab.apply(small_cluster(version="v2"))
        seen = 0

        async def dies_often() -> bool:
            nonlocal seen
            restarts = lab.service.figures.restarts.get((lab.namespace, CLUSTER), 0)
            if restarts:
                seen += restarts
                await lab.kill()
                lab.start()
            return condition(await lab.status(), "Stable").get("status") == "True" and seen > 0

        await lab.until(dies_often)

        assert {_image(one).rpartition(":")[2] for one in (await lab.pods()).values()} == {"v2"}

    in_lab(kube_api, kube_namespace, scenario)


def test_paused_nothing_restarts(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        before = {pod["metadata"]["uid"] for pod in (await lab.pods()).values()}

        paused = small_cluster(version="v2")
        paused["metadata"]["annotations"] = {"barnabas.dev/paused": "true"}
        await lab.apply(paused)
        await lab.until_condition("Paused")
        await lab.until_condition("Reconciling")
        await _rounds(lab, 3)

        assert {pod["metadata"]["uid"] for pod in (await lab.pods()).values()} == before
        assert condition(await lab.status(), "Stable")["status"] == "False"

    in_lab(kube_api, kube_namespace, scenario)


def test_a_dynamic_property_restarts_nobody(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        before = {pod["metadata"]["uid"] for pod in (await lab.pods()).values()}

        await lab.apply(small_cluster(config={"log.retention.ms": 5000}))

        async def is_set() -> bool:
            return lab.port.config.get("log.retention.ms") == "5000"

        await lab.until(is_set)
        await lab.until_condition("Stable")
        assert {pod["metadata"]["uid"] for pod in (await lab.pods()).values()} == before
        await lab.apply(small_cluster(config={}))

        async def is_reset() -> bool:
            return "log.retention.ms" not in lab.port.config

        await lab.until(is_reset)

    in_lab(kube_api, kube_namespace, scenario)


def test_a_property_that_is_read_once_rolls(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        before = {name: pod["metadata"]["uid"] for name, pod in (await lab.pods()).items()}

        await lab.apply(small_cluster(config={"num.partitions": 4}))
        await _watch_roll(lab)

        after = {name: pod["metadata"]["uid"] for name, pod in (await lab.pods()).items()}
        assert after[f"{CLUSTER}-main-0"] != before[f"{CLUSTER}-main-0"]

    in_lab(kube_api, kube_namespace, scenario)


def test_controllers_become_more_and_fewer(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        def with_controllers(count: int) -> Json:
            return small_cluster(controllers={"replicas": count, "storage": {"size": "1Gi"}})

        await lab.apply(with_controllers(1))
        await lab.until_condition("Stable")
        for count in (3, 1):
            await lab.apply(with_controllers(count))
            await lab.until_condition("Stable")
            assert len(lab.port.voters) == count
            names = [name for name in await lab.pods() if "-controllers-" in name]
            assert len(names) == count
        changes = [one for one in lab.port.done if isinstance(one, AddVoter | RemoveVoter)]
        assert [type(one) for one in changes] == [AddVoter, AddVoter, RemoveVoter, RemoveVoter]

    in_lab(kube_api, kube_namespace, scenario)


def test_brokers_become_more_and_fewer_with_their_replicas(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        def with_brokers(count: int) -> Json:
            storage = [{"size": "1Gi"}]
            return small_cluster(brokers=[{"name": "main", "replicas": count, "storage": storage}])

        await lab.apply(with_brokers(3))
        await lab.until_condition("Stable")
        lab.port.add_topic("t", 8, 0, 1, 2)
        await lab.apply(with_brokers(4))
        await lab.until_condition("Stable")
        held = [one for one in lab.port.topics["t"].partitions if 3 in one.replicas]
        assert held, "the new one got its share"

        await lab.apply(with_brokers(3))
        await lab.until_condition("Stable")

        assert not [one for one in lab.port.topics["t"].partitions if 3 in one.replicas]
        kinds = [type(one) for one in lab.port.done if not isinstance(one, Reassign)]
        assert kinds[-2:] == [Cordon, UnregisterBroker]
        assert f"{CLUSTER}-main-3" not in await lab.pods()

    in_lab(kube_api, kube_namespace, scenario)


def test_volumes_grow_and_the_set_stays(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        storage_class = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"{lab.namespace}-large"},
            "provisioner": "none",
            "allowVolumeExpansion": True,
        }
        name = storage_class["metadata"]["name"]  # type: ignore[index]
        await lab.kube.create("/apis/storage.k8s.io/v1/storageclasses", storage_class)

        def sized(size: str) -> Json:
            storage = [{"size": size, "storageClass": name}]
            return small_cluster(brokers=[{"name": "main", "replicas": 3, "storage": storage}])

        await lab.apply(sized("1Gi"))
        await lab.until_condition("Stable")
        before = await lab.get("StatefulSet", f"{CLUSTER}-main")

        await lab.apply(sized("2Gi"))

        async def has_grown() -> bool:
            claims = [
                one
                for one in await lab.list("PersistentVolumeClaim")
                if "-main-" in one["metadata"]["name"]
            ]
            sizes = [one["spec"]["resources"]["requests"]["storage"] for one in claims]
            return len(sizes) == 3 and set(sizes) == {"2Gi"}

        await lab.until(has_grown)
        await lab.until_condition("Stable")
        after = await lab.get("StatefulSet", f"{CLUSTER}-main")
        assert before is not None
        assert after is not None
        assert after["metadata"]["uid"] == before["metadata"]["uid"]

    in_lab(kube_api, kube_namespace, scenario)


def test_a_refused_spec_is_told_and_what_runs_goes_on(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        before = {pod["metadata"]["uid"] for pod in (await lab.pods()).values()}

        await lab.apply(small_cluster(config={"log.retention.ms": "long"}))
        degraded = await lab.until_condition("Degraded")

        assert "log.retention.ms" in degraded["message"]
        assert degraded["reason"] == "InvalidSpec"
        assert {pod["metadata"]["uid"] for pod in (await lab.pods()).values()} == before
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_what_kubernetes_refuses_is_told_and_mended(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    def cluster(**more: object) -> Json:
        inside = {"name": "plain", "port": 9092, "type": "internal"}
        outside = {"name": "outside", "port": 9094, "type": "nodeport", **more}
        return small_cluster(listeners=[inside, outside])

    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(cluster(advertised=[{"nodeId": 0, "nodePort": 1}]))
        told = await lab.until_condition("Degraded")

        assert told["reason"] == "Refused"
        assert f"Service {CLUSTER}-outside-0" in told["message"]
        assert "provided port is not in the valid range" in told["message"]
        await lab.apply(cluster())
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_a_deleted_cluster_leaves_nothing_but_its_volumes(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")

        await lab.remove("KafkaCluster", CLUSTER)

        async def is_gone() -> bool:
            left = [one for kind in (*CHILDREN, "Pod") for one in await lab.list(kind)]
            names = [one["metadata"]["name"] for one in left]
            return not [name for name in names if name.startswith(CLUSTER)]

        await lab.until(is_gone)
        assert len(await lab.list("PersistentVolumeClaim")) == 6

    in_lab(kube_api, kube_namespace, scenario)
