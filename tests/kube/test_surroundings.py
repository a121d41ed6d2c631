"""What comes from around a cluster: zones, hosts that are to go, pools given up, wrong starts."""

import json

from barnabas_operator.kube.client import Json
from barnabas_operator.kube.paths import path_of
from barnabas_operator.plan.actions import MoveLeaders, RemoveVoter
from tests.support.operator_lab import CLUSTER, OperatorLab, condition, in_lab, small_cluster
from tests.support.small_kubelet import ZONE
from tools.kube.apiserver import ApiServer

FACTS = "barnabas.dev/node-facts"
DISK = [{"size": "1Gi"}]


def test_pods_are_told_their_rack(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster(rack={"topologyKey": ZONE}))
        await lab.until_condition("Stable")

        pods = await lab.pods()

        facts = {
            name: json.loads(pod["metadata"]["annotations"][FACTS])
            for name, pod in pods.items()
            if "-main-" in name
        }
        assert facts == {f"{CLUSTER}-main-{one}": {"RACK": f"zone-{one}"} for one in range(3)}

    in_lab(kube_api, kube_namespace, scenario)


def test_a_pod_whose_zone_changed_restarts(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster(rack={"topologyKey": ZONE}))
        await lab.until_condition("Stable")
        before = (await lab.pods())[f"{CLUSTER}-main-1"]["metadata"]["uid"]

        host = path_of("Node", None, lab.kubelet.hosts[1])
        await lab.kube.merge(host, {"metadata": {"labels": {ZONE: "zone-x"}}})

        async def has_new_facts() -> bool:
            pod = (await lab.pods()).get(f"{CLUSTER}-main-1")
            if pod is None or pod["metadata"]["uid"] == before:
                return False
            return "zone-x" in (pod["metadata"]["annotations"].get(FACTS) or "")

        await lab.until(has_new_facts)
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_leaders_leave_a_host_that_is_cordoned(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        lab.port.add_topic("t", 2, 1, 0, 2)

        host = path_of("Node", None, lab.kubelet.hosts[1])
        await lab.kube.merge(host, {"spec": {"unschedulable": True}})

        async def has_moved() -> bool:
            return MoveLeaders(1) in lab.port.done

        await lab.until(has_moved)

    in_lab(kube_api, kube_namespace, scenario)


def test_a_pool_that_is_given_up_is_emptied_and_goes(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        main = {"name": "main", "replicas": 3, "storage": DISK}
        other = {"name": "other", "replicas": 1, "storage": DISK}
        await lab.apply(small_cluster(brokers=[main, other]))
        await lab.until_condition("Stable")
        lab.port.add_topic("t", 3, 1000, 0, 1)

        await lab.apply(small_cluster(brokers=[main]))

        async def is_gone() -> bool:
            return await lab.get("StatefulSet", f"{CLUSTER}-other") is None

        await lab.until(is_gone)
        await lab.until_condition("Stable")
        assert all(1000 not in one.replicas for one in lab.port.topics["t"].partitions)
        names = [one["metadata"]["name"] for one in await lab.list("Service")]
        assert f"{CLUSTER}-other" not in names
        status = await lab.status()
        assert {pool["name"] for pool in status["pools"]} >= {"main", "other"}, "its ids stay its"

    in_lab(kube_api, kube_namespace, scenario)


def test_coordinators_are_given_up_when_brokers_do_without_them(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        lab.port.add_topic("t", 3, 0, 1, 2)
        before = {name: pod["metadata"]["uid"] for name, pod in (await lab.pods()).items()}
        changed = small_cluster()
        del changed["spec"]["coordinators"]

        await lab.apply(changed)

        async def is_gone() -> bool:
            pods = await lab.pods()
            is_rolled = all(
                name in pods and pods[name]["metadata"]["uid"] != uid
                for name, uid in before.items()
                if "-main-" in name
            )
            assert is_rolled or sum("-group-" in name for name in pods) == 2
            return await lab.get("StatefulSet", f"{CLUSTER}-group") is None

        await lab.until(is_gone)
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_a_pod_that_cannot_be_told_its_address_says_what_is_missing(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    listeners = [
        {"name": "plain", "port": 9092, "type": "internal"},
        {"name": "cloud", "port": 9094, "type": "loadbalancer"},
    ]

    async def scenario(lab: OperatorLab) -> None:
        names = [f"{CLUSTER}-main-{one}" for one in range(3)]
        lab.kubelet.stopped.update(names)
        await lab.apply(small_cluster(listeners=listeners))
        told = f"{names[0]} waits for an address of listener cloud (loadbalancer)"

        async def is_told() -> bool:
            rollout = (await lab.status()).get("rollout") or {}
            return told in rollout.get("blockedBy", ())

        await lab.until(is_told)
        for number in range(3):
            name = f"{CLUSTER}-cloud-{number}"
            path = path_of("Service", lab.namespace, name)
            ingress = {"loadBalancer": {"ingress": [{"ip": f"192.0.2.{number + 1}"}]}}
            await lab.kube.merge(f"{path}/status", {"status": ingress})

        async def has_facts() -> bool:
            pod = (await lab.pods())[names[2]]
            return "192.0.2.3:9094" in (pod["metadata"]["annotations"].get(FACTS) or "")

        await lab.until(has_facts)
        lab.kubelet.stopped.clear()
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_a_controller_with_another_disk_votes_again(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        lab.port.lose_disk(100_001)

        async def is_replaced() -> bool:
            was_removed = any(isinstance(one, RemoveVoter) for one in lab.port.done)
            return was_removed and lab.port.voters == {100_000, 100_001, 100_002}

        await lab.until(is_replaced)
        await lab.until_condition("Stable")

    in_lab(kube_api, kube_namespace, scenario)


def test_a_wrong_start_of_everything_is_mended(kube_api: ApiServer, kube_namespace: str) -> None:
    """No quorum ever came: there is nobody to give a permit, and the fix needs none."""

    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster(version="bad"))
        await lab.until_condition("Degraded")
        assert condition(await lab.status(), "QuorumHealthy")["status"] == "Unknown"

        await lab.apply(small_cluster(version="v2"))

        await lab.until_condition("Stable")
        assert {_tag(one) for one in (await lab.pods()).values()} == {"v2"}

    in_lab(kube_api, kube_namespace, scenario)


def _tag(pod: Json) -> str:
    return str(pod["spec"]["containers"][0]["image"]).rpartition(":")[2]


def test_events_tell_what_happened(kube_api: ApiServer, kube_namespace: str) -> None:
    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        await lab.apply(small_cluster(version="v2"))

        async def is_rolled() -> bool:
            return {_tag(one) for one in (await lab.pods()).values()} == {"v2"}

        await lab.until(is_rolled)
        await lab.until_condition("Stable")

        events = [
            one for one in await lab.list("Event") if one["involvedObject"]["name"] == CLUSTER
        ]
        reasons = [one["reason"] for one in events]
        assert reasons.count("Restarting") == 8
        assert reasons.count("Ready") == 1, "brokers that take turns are no news"
        assert reasons.count("Stable") == 2

    in_lab(kube_api, kube_namespace, scenario)


def test_a_pod_that_kubernetes_cannot_make_is_told_and_is_the_only_one(
    kube_api: ApiServer, kube_namespace: str
) -> None:
    """A limit under which no pod is admitted: the first that restarts does not come back."""
    limit = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "tiny"},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "1Mi"}}]},
    }
    at = ("-n", kube_namespace, "-f", "-")

    async def scenario(lab: OperatorLab) -> None:
        await lab.apply(small_cluster())
        await lab.until_condition("Stable")
        before = set(await lab.pods())
        kube_api.kubectl("apply", *at, stdin=json.dumps(limit))

        await lab.apply(small_cluster(config={"queued.max.requests": 77}))
        told = await lab.until_condition("Degraded")

        (missing,) = before - set(await lab.pods())
        assert told["reason"] == "PodsCannotRun"
        assert f"{missing} cannot be made" in told["message"]
        assert "maximum memory usage" in told["message"]
        kube_api.kubectl("delete", *at, stdin=json.dumps(limit))
        await lab.until_condition("Stable")
        assert set(await lab.pods()) == before

    in_lab(kube_api, kube_namespace, scenario)
