"""What a restart would cost."""

from barnabas_controller.managers.permit import RestartRisk, risk_of_restart
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.controller_lab import ControllerLab


def _lab(brokers: int = 4) -> ControllerLab:
    lab = ControllerLab()
    lab.set_config(4, "", "min.insync.replicas", "2")
    for broker_id in range(1, brokers + 1):
        lab.register_broker(broker_id)
    return lab


def _keys(lab: ControllerLab, topic: str) -> tuple[PartitionKey, ...]:
    return (PartitionKey(lab.topic_id(topic), 0),)


def test_a_broker_without_partitions_may_go() -> None:
    assert risk_of_restart(_lab().view(), 4) == RestartRisk()
    assert risk_of_restart(_lab().view(), 4).is_safe


def test_a_partition_with_replicas_to_spare_is_at_no_risk() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3, 4]})

    assert risk_of_restart(lab.view(), 1) == RestartRisk()


def test_a_partition_that_keeps_just_enough_is_told_and_safe() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]})

    risk = risk_of_restart(lab.view(), 1)

    assert risk == RestartRisk(at_min_isr=_keys(lab, "t"))
    assert risk.is_safe


def test_a_partition_that_would_refuse_writes_is_a_risk() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]}, isr=[1, 2])

    risk = risk_of_restart(lab.view(), 1)

    assert risk == RestartRisk(under_min_isr=_keys(lab, "t"))
    assert not risk.is_safe


def test_the_last_in_sync_would_take_its_partition_offline() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]}, isr=[1])

    risk = risk_of_restart(lab.view(), 1)

    assert risk == RestartRisk(offline=_keys(lab, "t"))
    assert not risk.is_safe


def test_a_broker_that_is_not_in_sync_takes_nothing_with_it() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]}, isr=[1, 2])

    assert risk_of_restart(lab.view(), 3) == RestartRisk()


def test_brokers_already_permitted_count_as_down() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]})

    assert risk_of_restart(lab.view(), 1, {2}).under_min_isr == _keys(lab, "t")
    assert risk_of_restart(lab.view(), 1, {2, 3}).offline == _keys(lab, "t")


def test_fenced_and_departing_brokers_count_as_down() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1, 2, 3]})
    lab.change_broker(2, fenced=True)
    assert risk_of_restart(lab.view(), 1).under_min_isr == _keys(lab, "t")

    lab.change_broker(3, in_controlled_shutdown=True)
    assert risk_of_restart(lab.view(), 1).offline == _keys(lab, "t")


def test_one_replica_is_no_reason_to_wait() -> None:
    lab = _lab()
    lab.create_topic("t", {0: [1]})

    risk = risk_of_restart(lab.view(), 1)

    assert risk == RestartRisk(unavoidable=_keys(lab, "t"))
    assert risk.is_safe


def test_an_eligible_leader_that_is_up_keeps_a_partition_online() -> None:
    lab = _lab()
    topic_id = lab.create_topic("t", {0: [1, 2]}, isr=[1])
    change = PartitionChangeRecord(partition_id=0, topic_id=topic_id, eligible_leader_replicas=[2])
    lab.apply([change])

    assert risk_of_restart(lab.view(), 1).under_min_isr == _keys(lab, "t")
    assert risk_of_restart(lab.view(), 1, {2}).offline == _keys(lab, "t")


def test_the_only_one_that_could_lead_must_stay() -> None:
    lab = _lab()
    topic_id = lab.create_topic("t", {0: [1, 2]})
    change = PartitionChangeRecord(
        partition_id=0, topic_id=topic_id, isr=[], leader=-1, eligible_leader_replicas=[1]
    )
    lab.apply([change])

    assert risk_of_restart(lab.view(), 1).offline == _keys(lab, "t")
    assert risk_of_restart(lab.view(), 2) == RestartRisk()


def test_a_broker_that_is_only_eligible_takes_nothing_from_those_in_sync() -> None:
    lab = _lab()
    topic_id = lab.create_topic("t", {0: [1, 2]}, isr=[2])
    change = PartitionChangeRecord(partition_id=0, topic_id=topic_id, eligible_leader_replicas=[1])
    lab.apply([change])

    assert risk_of_restart(lab.view(), 1) == RestartRisk()
