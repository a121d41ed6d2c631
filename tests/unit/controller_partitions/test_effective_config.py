from dataclasses import replace

from barnabas_controller.managers.partitions.min_isr import (
    effective_min_isr,
    unclean_election_enabled,
)
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from tests.support.controller_lab import SETTINGS, ControllerLab


def lab_with_topic(**settings: int | bool) -> ControllerLab:
    lab = ControllerLab(replace(SETTINGS, **settings))  # type: ignore[arg-type]
    for broker_id in (1, 2, 3):
        lab.register_broker(broker_id)
    lab.create_topic("orders", {0: [1, 2, 3]})
    return lab


def test_the_minimum_isr_of_a_topic_without_config_is_the_controllers_own() -> None:
    lab = lab_with_topic(min_insync_replicas=2)

    assert effective_min_isr(lab.view(), "orders") == 2


def test_the_dynamic_default_comes_before_the_properties_file() -> None:
    lab = lab_with_topic(min_insync_replicas=2)

    lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "3")

    assert effective_min_isr(lab.view(), "orders") == 3


def test_what_is_set_for_the_controller_comes_before_the_default_of_all_nodes() -> None:
    lab = lab_with_topic()

    lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "3")
    lab.set_config(BROKER_RESOURCE, str(SETTINGS.node_id), "min.insync.replicas", "2")

    assert effective_min_isr(lab.view(), "orders") == 2


def test_the_config_of_the_topic_comes_first() -> None:
    lab = lab_with_topic(min_insync_replicas=3)

    lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "3")
    lab.set_topic_config("orders", "min.insync.replicas", "2")

    assert effective_min_isr(lab.view(), "orders") == 2


def test_a_minimum_above_the_number_of_replicas_means_all_of_them() -> None:
    lab = lab_with_topic(min_insync_replicas=5)

    assert effective_min_isr(lab.view(), "orders") == 3


def test_the_minimum_of_a_topic_that_does_not_exist_yet_is_not_capped() -> None:
    lab = lab_with_topic(min_insync_replicas=5)

    assert effective_min_isr(lab.view(), "not yet") == 5


def test_unclean_elections_are_off_unless_somebody_says_so() -> None:
    assert not unclean_election_enabled(lab_with_topic().view(), "orders")
    assert unclean_election_enabled(lab_with_topic(unclean_leader_election=True).view(), "orders")


def test_a_topic_may_forbid_what_the_cluster_allows() -> None:
    lab = lab_with_topic(unclean_leader_election=True)

    lab.set_config(BROKER_RESOURCE, "", "unclean.leader.election.enable", "true")
    lab.set_topic_config("orders", "unclean.leader.election.enable", "false")

    assert not unclean_election_enabled(lab.view(), "orders")
