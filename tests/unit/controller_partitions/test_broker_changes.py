"""What fencing, unfencing, shutdowns and lost directories do to partitions."""

import pytest

from barnabas_controller.managers.partitions.broker_changes import (
    records_for_controlled_shutdown,
    records_for_fencing,
    records_for_offline_dirs,
    records_for_unclean_shutdown,
    records_for_unfencing,
    records_for_unregistering,
)
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERED, RECOVERING
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.controller_lab import ControllerLab, directory_id


def lab_of_three(*, elr: bool = True, level: int | None = None) -> ControllerLab:
    lab = ControllerLab(features=None if elr else {}, metadata_level=level)
    for broker_id in (1, 2, 3):
        lab.register_broker(broker_id)
    return lab


def fence(lab: ControllerLab, *brokers: int) -> None:
    for broker_id in brokers:
        lab.apply(records_for_fencing(lab.view(), broker_id))
        lab.change_broker(broker_id, fenced=True)
    lab.check_snapshot()


def unfence(lab: ControllerLab, broker_id: int) -> None:
    lab.apply(records_for_unfencing(lab.view(), broker_id))
    lab.change_broker(broker_id, fenced=False)
    lab.check_snapshot()


def test_a_fenced_broker_leaves_every_isr_and_leads_nothing() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3], 1: [2, 1, 3], 2: [3, 2]})

    fence(lab, 1)

    assert [lab.partition("orders", n).isr for n in range(3)] == [(2, 3), (2, 3), (3, 2)]
    assert [lab.partition("orders", n).leader for n in range(3)] == [2, 2, 3]
    assert [lab.partition("orders", n).leader_epoch for n in range(3)] == [1, 0, 0]


def test_only_partitions_of_the_broker_cost_a_record() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2], 1: [2, 3], 2: [3, 1]})

    records = records_for_fencing(lab.view(), 1)

    assert [r.partition_id for r in records if isinstance(r, PartitionChangeRecord)] == [0, 2]


def test_without_elr_the_last_one_in_sync_stays_in_the_isr_of_a_leaderless_partition() -> None:
    lab = lab_of_three(elr=False)
    lab.create_topic("orders", {0: [1, 2]})

    fence(lab, 1, 2)

    partition = lab.partition("orders")
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((2,), NO_LEADER, 2)
    assert not partition.eligible_leader_replicas


def test_without_elr_only_the_last_one_in_sync_leads_again() -> None:
    lab = lab_of_three(elr=False)
    lab.create_topic("orders", {0: [1, 2]})
    fence(lab, 1, 2)

    unfence(lab, 1)
    assert lab.partition("orders").leader == NO_LEADER
    unfence(lab, 2)

    partition = lab.partition("orders")
    assert (partition.isr, partition.leader) == ((2,), 2)


def test_who_leaves_an_isr_below_the_minimum_stays_eligible() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.set_topic_config("orders", "min.insync.replicas", "2")

    fence(lab, 3)
    assert lab.partition("orders").eligible_leader_replicas == ()
    fence(lab, 2)
    assert lab.partition("orders").eligible_leader_replicas == (2,)
    fence(lab, 1)

    partition = lab.partition("orders")
    assert (partition.isr, partition.leader) == ((), NO_LEADER)
    assert partition.eligible_leader_replicas == (1, 2)
    assert partition.last_known_elr == (1,)


def test_an_eligible_replica_that_returns_leads_alone_in_sync() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.set_topic_config("orders", "min.insync.replicas", "2")
    fence(lab, 3, 2, 1)

    unfence(lab, 3)
    assert lab.partition("orders").leader == NO_LEADER
    unfence(lab, 2)

    partition = lab.partition("orders")
    assert (partition.leader, partition.isr) == (2, (2,))
    assert partition.eligible_leader_replicas == (1,)
    assert partition.last_known_elr == ()
    assert partition.leader_recovery_state == RECOVERED


def test_a_broker_that_returns_uncleanly_leaves_isr_and_elr() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3], 1: [2, 1, 3]})
    lab.set_topic_config("orders", "min.insync.replicas", "2")
    fence(lab, 3, 2)

    lab.apply(records_for_unclean_shutdown(lab.view(), 2))
    lab.apply(records_for_unclean_shutdown(lab.view(), 1))

    for number in (0, 1):
        partition = lab.partition("orders", number)
        assert (partition.isr, partition.leader) == ((), NO_LEADER)
        assert partition.eligible_leader_replicas == ()
        assert partition.last_known_elr == (1,)


def test_the_last_known_leader_leads_again_at_a_loss_when_nobody_is_eligible() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.apply(records_for_unclean_shutdown(lab.view(), 3))
    lab.apply(records_for_unclean_shutdown(lab.view(), 2))
    fence(lab, 1)
    lab.apply(records_for_unclean_shutdown(lab.view(), 1))
    assert lab.partition("orders").eligible_leader_replicas == ()

    unfence(lab, 1)

    partition = lab.partition("orders")
    assert (partition.leader, partition.isr, partition.last_known_elr) == (1, (1,), ())
    assert partition.leader_recovery_state == RECOVERING


def test_without_elr_an_unclean_return_keeps_the_last_one_in_sync() -> None:
    lab = lab_of_three(elr=False)
    lab.create_topic("orders", {0: [1, 2]})
    fence(lab, 2)

    lab.apply(records_for_unclean_shutdown(lab.view(), 1))

    assert lab.partition("orders").isr == (1,)


def test_a_controlled_shutdown_hands_the_lead_over() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2], 1: [1]})

    lab.apply(records_for_controlled_shutdown(lab.view(), 1))

    assert (lab.partition("orders", 0).leader, lab.partition("orders", 0).isr) == (2, (2,))
    assert lab.partition("orders", 1).leader == NO_LEADER
    assert lab.partition("orders", 1).eligible_leader_replicas == (1,)


def test_a_broker_on_its_way_out_is_not_elected() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.change_broker(2, in_controlled_shutdown=True)

    fence(lab, 1)

    assert lab.partition("orders").leader == 3


def test_an_unregistered_broker_is_no_longer_eligible() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.set_topic_config("orders", "min.insync.replicas", "3")
    fence(lab, 3)
    assert lab.partition("orders").eligible_leader_replicas == (3,)

    lab.apply(records_for_unregistering(lab.view(), 3))

    partition = lab.partition("orders")
    assert (partition.replicas, partition.isr) == ((1, 2, 3), (1, 2))
    assert partition.eligible_leader_replicas == ()


def test_an_unclean_leader_is_elected_where_the_topic_allows_it() -> None:
    lab = lab_of_three(elr=False)
    lab.create_topic("orders", {0: [1, 2]})
    lab.set_topic_config("orders", "unclean.leader.election.enable", "true")
    fence(lab, 2)
    lab.change_broker(2, fenced=False)

    fence(lab, 1)

    partition = lab.partition("orders")
    assert (partition.leader, partition.isr) == (2, (2,))
    assert partition.leader_recovery_state == RECOVERING


def test_an_unclean_leader_leaves_no_trace_of_who_was_eligible() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]}, isr=[1, 2])
    lab.set_topic_config("orders", "min.insync.replicas", "2")
    fence(lab, 3, 2, 1)
    lab.set_topic_config("orders", "unclean.leader.election.enable", "true")

    unfence(lab, 3)

    partition = lab.partition("orders")
    assert (partition.leader, partition.isr) == (3, (3,))
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())


def test_a_lost_directory_takes_only_its_own_partitions_offline() -> None:
    lab = ControllerLab()
    lab.register_broker(1, dirs=2)
    lab.register_broker(2)
    lab.create_topic("orders", {0: [1, 2], 1: [1, 2], 2: [1, 2]})
    for number, of_broker in ((0, 0), (1, 1)):
        lab.apply(
            [
                PartitionChangeRecord(
                    number,
                    lab.topic_id("orders"),
                    directories=[directory_id(1, of_broker), directory_id(2)],
                )
            ]
        )

    lab.apply(records_for_offline_dirs(lab.view(), 1, [directory_id(1, 1)]))

    assert [lab.partition("orders", n).leader for n in range(3)] == [1, 2, 1]
    assert [lab.partition("orders", n).isr for n in range(3)] == [(1, 2), (2,), (1, 2)]


def test_a_replica_in_an_offline_directory_is_not_elected() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2, 3]})
    lab.change_broker(2, log_dirs=[directory_id(2, 9)])

    fence(lab, 1)

    assert lab.partition("orders").leader == 3


@pytest.mark.parametrize(("level", "leader_epoch"), [(11, 1), (12, 0)])
def test_a_shrunken_isr_begins_a_leader_epoch_only_for_brokers_that_need_it(
    level: int, leader_epoch: int
) -> None:
    lab = lab_of_three(level=level)
    lab.create_topic("orders", {0: [1, 2, 3]})

    fence(lab, 3)

    partition = lab.partition("orders")
    assert (partition.leader, partition.leader_epoch) == (1, leader_epoch)
    assert partition.partition_epoch == 1


def test_unfencing_a_broker_that_keeps_nothing_leaderless_changes_nothing() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1], 1: [2, 3]})
    fence(lab, 1)

    assert records_for_unfencing(lab.view(), 3) == []


def test_unfencing_a_broker_does_not_elect_others_uncleanly() -> None:
    lab = lab_of_three()
    lab.create_topic("orders", {0: [1, 2]}, isr=[1])
    fence(lab, 1, 3)
    lab.set_topic_config("orders", "unclean.leader.election.enable", "true")

    assert records_for_unfencing(lab.view(), 3) == []
