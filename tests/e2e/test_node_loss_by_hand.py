"""A worker that stops, and with it a zone: a third of the controllers and of the replicas."""

from tests.support.kind_lab import KindLab, Place, expect_nothing_lost, until

# A node that is gone without a word is missed after the sessions of its broker and controller.
GAP_OF_A_NODE_MS = 60_000


def test_a_zone_that_stops_and_comes_back_under_load_loses_nothing(
    lab: KindLab, by_hand: Place
) -> None:
    worker = by_hand.get("pod", "broker-2")["spec"]["nodeName"]

    with by_hand.numbered_load("without-a-zone") as load:
        lab.stop_node(worker)
        try:
            load.wait_all_partitions(more=100)
        finally:
            lab.start_node(worker)
        until(lambda: lab.is_node_ready(worker), f"{worker} is back")
        by_hand.wait_ready("app=broker", 3)
        load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_NODE_MS)
