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
