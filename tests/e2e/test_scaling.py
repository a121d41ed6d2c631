"""More and fewer nodes, with data in place."""

from itertools import pairwise

from tests.support.kafka_resource import KafkaResource, cluster_spec
from tests.support.kind_lab import KindLab, Place, expect_nothing_lost, note_figures

GAP_OF_A_MOVE_MS = 30_000


def test_brokers_are_added_and_removed_under_load(orders: KafkaResource) -> None:
    with orders.place.numbered_load("moved") as load:
        orders.patch_pool(replicas=4)
        note_figures("brokers 3 to 4", {"seconds": round(orders.wait())})
        assert len(orders.pods("broker")) == 4

        orders.patch_pool(replicas=3)
        note_figures("brokers 4 to 3", {"seconds": round(orders.wait())})
        assert len(orders.pods("broker")) == 3

    expect_nothing_lost(load.verdict, GAP_OF_A_MOVE_MS)


def test_one_controller_becomes_three_and_five_and_one_again(lab: KindLab, operator: Place) -> None:
    with lab.namespace("growing", bootstrap="growing-plain-bootstrap:9092") as place:
        cluster = KafkaResource(place, "growing")
        cluster.apply(cluster_spec(controllers=1, brokers=3, coordinators=1))
        cluster.wait()

        with place.numbered_load("governed") as load:
            for before, after in pairwise((1, 3, 5, 3, 1)):
                cluster.patch({"controllers": {"replicas": after}})
                took_s = round(cluster.wait())
                note_figures(f"controllers {before} to {after}", {"seconds": took_s})
                assert len(cluster.get()["status"]["voters"]) == after
                assert len(cluster.pods("controller")) == after

        expect_nothing_lost(load.verdict, GAP_OF_A_MOVE_MS)
        # Whoever is left decides: a topic is made, and a group reads it.
        verdict = place.run_client(
            "round-trip", "round_trip.py", place.bootstrap, "greetings", "100", "--create=3,3"
        )
        assert verdict["read"] == 100
        place.kubectl("delete", "kafkacluster", cluster.name, "--timeout=120s")
