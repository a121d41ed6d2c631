"""Pods and nodes that go without being asked, under a load that may notice a pause."""

from tests.support.kafka_resource import KafkaResource
from tests.support.kind_lab import KindLab, expect_nothing_lost, note_figures, until

# One that is killed is missed after its session, by the controllers and by clients.
GAP_OF_A_KILL_MS = 45_000
GAP_OF_A_NODE_MS = 60_000


def test_a_broker_that_is_killed_loses_nothing(orders: KafkaResource) -> None:
    with orders.place.numbered_load("killed") as load:
        orders.place.replace_pod(min(orders.pods("broker")), "--force", "--grace-period=0")
        load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_KILL_MS)


def test_groups_go_on_committing_when_a_coordinator_is_killed(orders: KafkaResource) -> None:
    place, server = orders.place, f"--bootstrap={orders.bootstrap}"
    reader = ("group_load.py", "--topic=grouped", server, "--group=readers")

    with place.numbered_load("grouped"), place.load("readers", *reader, key="commits") as group:
        for pod in orders.pods("coordinator"):
            place.replace_pod(pod, "--force", "--grace-period=0")
            group.wait_progress("commits", 30)

    note_figures("commits", group.verdict)
    assert group.verdict["went_back"] == 0
    assert group.verdict["lost_commits"] == 0


def test_a_controller_whose_disk_is_lost_is_replaced(orders: KafkaResource) -> None:
    """As docs/operations.md tells: its claim and its pod are deleted."""
    pod = min(orders.pods("controller"))
    claim = f"data-{pod}"
    before = orders.place.get("pvc", claim)["metadata"]["uid"]

    with orders.place.numbered_load("diskless") as load:
        orders.place.kubectl("delete", "pvc", claim, "--wait=false")
        orders.place.replace_pod(pod)
        # The voter of the lost disk would lag behind for ever.
        until(lambda: lags(orders) == [0, 0, 0], "three voters follow")
        orders.wait()
        assert orders.place.get("pvc", claim)["metadata"]["uid"] != before

    expect_nothing_lost(load.verdict, GAP_OF_A_KILL_MS)


def test_a_zone_that_stops_and_comes_back_loses_nothing(
    lab: KindLab, orders: KafkaResource
) -> None:
    pod = min(orders.pods("broker"))
    worker = orders.place.get("pod", pod)["spec"]["nodeName"]

    with orders.place.numbered_load("without-a-zone") as load:
        lab.stop_node(worker)
        try:
            load.wait_all_partitions(more=100)
        finally:
            lab.start_node(worker)
        until(lambda: lab.is_node_ready(worker), f"{worker} is back")
        orders.wait()
        load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_NODE_MS)


def lags(orders: KafkaResource) -> list[int]:
    return [voter["lag"] for voter in orders.get()["status"]["voters"]]
