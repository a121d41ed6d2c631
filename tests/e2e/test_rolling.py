"""Restarts: none where none is needed, and none that a client feels where one is."""

import pytest

from tests.support.kafka_resource import KafkaResource, cluster_spec
from tests.support.kind_lab import KindLab, Place, expect_nothing_lost, until

GAP_OF_A_ROLL_MS = 15_000


def test_a_dynamic_property_is_applied_without_a_restart(orders: KafkaResource) -> None:
    before = orders.pods()

    orders.patch({"config": {"log.cleaner.threads": 2}})
    orders.wait()

    assert orders.condition("ConfigApplied")["status"] == "True"
    assert orders.pods() == before


@pytest.mark.smoke
def test_everything_rolls_under_load_and_nothing_is_lost(orders: KafkaResource) -> None:
    before = orders.pods()

    with orders.place.numbered_load("rolled") as load:
        roll_all(orders, "first")
        orders.wait_rolled(before, "everything rolled")
        load.wait_progress(more=500)

    expect_nothing_lost(load.verdict, GAP_OF_A_ROLL_MS)


def test_an_operator_that_is_killed_in_a_roll_goes_on_with_it(
    orders: KafkaResource, operator: Place
) -> None:
    before = orders.pods()

    with orders.place.numbered_load("rolled-by-two") as load:
        roll_all(orders, "second")
        gone = set(before.values())
        until(lambda: len(gone & set(orders.pods().values())) < len(gone), "the roll begins")
        operator.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
        orders.wait_rolled(before, "rolled by two operators")

    expect_nothing_lost(load.verdict, GAP_OF_A_ROLL_MS)


def test_a_bad_image_stops_after_one_pod_and_a_good_one_mends_it(orders: KafkaResource) -> None:
    before = orders.pods("broker")

    orders.patch_pool(image="barnabas/broker:no-such-tag")
    until(
        lambda: orders.condition("Degraded").get("status") == "True", "it says what is wrong", 600
    )
    assert len(set(before.values()) & set(orders.pods("broker").values())) == 2

    orders.patch_pool(image="barnabas/broker:dev")
    orders.wait()


def test_brokers_of_a_rack_go_together_where_that_is_allowed(lab: KindLab, operator: Place) -> None:
    with lab.namespace("racks", bootstrap="racks-plain-bootstrap:9092") as place:
        cluster = KafkaResource(place, "racks")
        cluster.apply(cluster_spec(controllers=1, brokers=6, coordinators=0))
        cluster.wait()
        with place.numbered_load("racked") as load:
            for at_once in (1, 2):
                before = cluster.pods("broker")
                cluster.patch({"rollout": {"maxUnavailablePerRack": at_once}})
                cluster.patch_pool(template={"annotations": {"example.com/roll": f"by-{at_once}"}})
                cluster.wait_rolled(before, f"brokers in three racks, {at_once} at once")

        expect_nothing_lost(load.verdict, GAP_OF_A_ROLL_MS)
        place.kubectl("delete", "kafkacluster", cluster.name, "--timeout=120s")


def roll_all(orders: KafkaResource, value: str) -> None:
    """A new annotation for the pods of every role."""
    template = {"annotations": {"example.com/roll": value}}
    spec = orders.get()["spec"]
    orders.patch(
        {
            "controllers": {"template": template},
            "brokers": [pool | {"template": template} for pool in spec["brokers"]],
            "coordinators": {"group": {"template": template}},
        }
    )
