import pytest

from barnabas_controller.managers.partitions.alter_partition import decide_alter_partition
from barnabas_controller.managers.partitions.broker_changes import records_for_fencing
from barnabas_core.metadata.partition_image import RECOVERED, RECOVERING
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.alter_partition_response import AlterPartitionResponse
from barnabas_core.wire.messages.alter_partition_response import PartitionData as PartitionAnswer
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.controller_lab import ControllerLab


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    for broker_id in (1, 2, 3, 4):
        lab.register_broker(broker_id)
    lab.create_topic("orders", {0: [1, 2, 3]})
    return lab


def epoch_of(lab: ControllerLab, broker_id: int) -> int:
    return lab.image.cluster.brokers[broker_id].epoch


def wanted(lab: ControllerLab, isr: list[int], number: int = 0) -> PartitionData:
    """What the leader asks for, with all that it should know."""
    partition = lab.partition("orders", number)
    brokers = lab.image.cluster.brokers
    return PartitionData(
        partition_index=number,
        leader_epoch=partition.leader_epoch,
        new_isr_with_epochs=[BrokerState(b, brokers[b].epoch) for b in isr if b in brokers],
        partition_epoch=partition.partition_epoch,
    )


def ask(
    lab: ControllerLab,
    *partitions: PartitionData,
    broker_id: int = 1,
    broker_epoch: int | None = None,
    version: int = 3,
) -> AlterPartitionResponse:
    request = AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=epoch_of(lab, broker_id) if broker_epoch is None else broker_epoch,
        topics=[TopicData(lab.topic_id("orders"), list(partitions))],
    )
    return lab.decide(decide_alter_partition, request, version)


def answer_to(
    lab: ControllerLab, partition: PartitionData, *, broker_id: int = 1
) -> PartitionAnswer:
    response = ask(lab, partition, broker_id=broker_id)
    assert response.error_code == ErrorCode.NONE
    return response.topics[0].partitions[0]


def error_of(lab: ControllerLab, partition: PartitionData, *, broker_id: int = 1) -> ErrorCode:
    """The error, of a request that must have changed nothing."""
    answer = answer_to(lab, partition, broker_id=broker_id)
    assert lab.records == []
    return ErrorCode(answer.error_code)


def test_the_answer_tells_the_new_state(lab: ControllerLab) -> None:
    answer = answer_to(lab, wanted(lab, [1, 3]))

    assert answer.error_code == ErrorCode.NONE
    assert (answer.isr, answer.leader_id) == ([1, 3], 1)
    assert (answer.leader_epoch, answer.partition_epoch) == (0, 1)
    assert lab.partition("orders").isr == (1, 3)


def test_the_isr_that_is_there_already_costs_no_record(lab: ControllerLab) -> None:
    answer = answer_to(lab, wanted(lab, [1, 2, 3]))

    assert (answer.error_code, answer.partition_epoch) == (ErrorCode.NONE, 0)
    assert lab.records == []


def test_a_replica_that_caught_up_joins_and_is_no_longer_only_eligible(lab: ControllerLab) -> None:
    lab.set_topic_config("orders", "min.insync.replicas", "2")
    answer_to(lab, wanted(lab, [1]))
    assert lab.partition("orders").eligible_leader_replicas == (2, 3)

    answer_to(lab, wanted(lab, [1, 2]))

    assert lab.partition("orders").isr == (1, 2)
    assert lab.partition("orders").eligible_leader_replicas == ()


def test_a_broker_of_an_earlier_registration_is_refused_as_a_whole(lab: ControllerLab) -> None:
    response = ask(lab, wanted(lab, [1, 2]), broker_epoch=epoch_of(lab, 1) - 1)

    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert (response.topics, lab.partition("orders").isr) == ([], (1, 2, 3))


def test_a_broker_that_is_not_registered_is_refused_as_a_whole(lab: ControllerLab) -> None:
    response = ask(lab, wanted(lab, [1, 2]), broker_id=9, broker_epoch=1)

    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_an_unknown_topic_is_refused_partition_by_partition(lab: ControllerLab) -> None:
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=epoch_of(lab, 1),
        topics=[
            TopicData(b"?" * 16, [PartitionData(0), PartitionData(4)]),
            TopicData(lab.topic_id("orders"), [wanted(lab, [1, 2])]),
        ],
    )
    response = lab.decide(decide_alter_partition, request)

    unknown = [(p.partition_index, p.error_code) for p in response.topics[0].partitions]
    assert unknown == [(0, ErrorCode.UNKNOWN_TOPIC_ID), (4, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert response.topics[1].partitions[0].isr == [1, 2]


def test_an_unknown_partition_is_refused(lab: ControllerLab) -> None:
    partition = wanted(lab, [1, 2])
    partition.partition_index = 7

    assert error_of(lab, partition) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leader_that_knows_more_than_this_controller_looks_for_another(
    lab: ControllerLab,
) -> None:
    ahead = wanted(lab, [1, 2])
    ahead.leader_epoch += 1
    assert error_of(lab, ahead) == ErrorCode.NOT_CONTROLLER

    ahead = wanted(lab, [1, 2])
    ahead.partition_epoch += 1
    assert error_of(lab, ahead) == ErrorCode.NOT_CONTROLLER


def test_a_deposed_leader_is_fenced(lab: ControllerLab) -> None:
    late = wanted(lab, [1, 2])
    lab.apply(records_for_fencing(lab.view(), 1))

    assert error_of(lab, late) == ErrorCode.FENCED_LEADER_EPOCH


def test_only_the_leader_may_ask(lab: ControllerLab) -> None:
    assert error_of(lab, wanted(lab, [1, 2]), broker_id=2) == ErrorCode.INVALID_REQUEST


def test_a_leader_that_missed_a_change_must_look_again(lab: ControllerLab) -> None:
    late = wanted(lab, [1, 2])
    answer_to(lab, wanted(lab, [1, 3]))

    assert error_of(lab, late) == ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.parametrize("isr", [[1, 4], [2, 3], [], [1, 2, 2]])
def test_an_isr_is_of_replicas_once_each_with_the_leader(
    lab: ControllerLab, isr: list[int]
) -> None:
    assert error_of(lab, wanted(lab, isr)) == ErrorCode.INVALID_REQUEST


def test_a_fenced_replica_may_not_join(lab: ControllerLab) -> None:
    lab.change_broker(3, fenced=True)

    assert error_of(lab, wanted(lab, [1, 2, 3])) == ErrorCode.INELIGIBLE_REPLICA


def test_a_replica_on_its_way_out_may_not_join(lab: ControllerLab) -> None:
    lab.change_broker(3, in_controlled_shutdown=True)

    assert error_of(lab, wanted(lab, [1, 2, 3])) == ErrorCode.INELIGIBLE_REPLICA


def test_a_replica_that_restarted_since_it_was_in_sync_may_not_join(lab: ControllerLab) -> None:
    asked = wanted(lab, [1, 2, 3])
    lab.register_broker(3, incarnation=1)

    assert error_of(lab, asked) == ErrorCode.INELIGIBLE_REPLICA


def test_an_epoch_of_minus_one_is_not_compared(lab: ControllerLab) -> None:
    asked = wanted(lab, [1, 3])
    asked.new_isr_with_epochs[1].broker_epoch = -1

    assert answer_to(lab, asked).error_code == ErrorCode.NONE


def test_version_2_names_members_without_epochs(lab: ControllerLab) -> None:
    asked = PartitionData(partition_index=0, new_isr=[1, 2])

    response = ask(lab, asked, version=2)

    assert response.topics[0].partitions[0].isr == [1, 2]


def make_recovering(lab: ControllerLab) -> None:
    record = PartitionChangeRecord(0, lab.topic_id("orders"), isr=[1], leader_recovery_state=1)
    lab.apply([record])


def test_a_leader_ends_its_recovery_and_then_lets_others_join(lab: ControllerLab) -> None:
    make_recovering(lab)

    answer = answer_to(lab, wanted(lab, [1]))

    assert answer.leader_recovery_state == RECOVERED
    assert lab.partition("orders").leader_recovery_state == RECOVERED


def test_nobody_joins_while_the_leader_recovers(lab: ControllerLab) -> None:
    make_recovering(lab)
    asked = wanted(lab, [1, 2])
    asked.leader_recovery_state = RECOVERING

    assert error_of(lab, asked) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("state", [RECOVERING, 5])
def test_a_recovered_leader_does_not_recover_again(lab: ControllerLab, state: int) -> None:
    asked = wanted(lab, [1])
    asked.leader_recovery_state = state

    assert error_of(lab, asked) == ErrorCode.INVALID_REQUEST


def reassign(lab: ControllerLab, *, leader_goes: bool) -> None:
    """From 1, 2, 3 to 4 and two of them."""
    gone = 1 if leader_goes else 3
    left = [b for b in (1, 2, 3) if b != gone]
    lab.apply(
        [
            PartitionChangeRecord(
                0,
                lab.topic_id("orders"),
                replicas=[4, *left, gone],
                directories=[bytes(16)] * 4,
                removing_replicas=[gone],
                adding_replicas=[4],
            )
        ]
    )


def test_the_isr_that_has_all_new_replicas_ends_a_reassignment(lab: ControllerLab) -> None:
    reassign(lab, leader_goes=False)

    answer = answer_to(lab, wanted(lab, [1, 2, 3, 4]))

    partition = lab.partition("orders")
    assert (answer.error_code, answer.isr) == (ErrorCode.NONE, [1, 2, 4])
    assert (partition.replicas, partition.isr) == ((4, 1, 2), (1, 2, 4))
    assert not partition.is_reassigning
    assert answer.leader_epoch == partition.leader_epoch == 1


def test_a_leader_that_its_own_isr_change_removes_is_told_of_the_new_one(
    lab: ControllerLab,
) -> None:
    reassign(lab, leader_goes=True)

    answer = answer_to(lab, wanted(lab, [1, 2, 3, 4]))

    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert (lab.partition("orders").leader, lab.partition("orders").replicas) == (4, (4, 2, 3))


def test_a_partition_named_twice_is_altered_from_where_the_first_left_it(
    lab: ControllerLab,
) -> None:
    first, second = wanted(lab, [1, 2]), wanted(lab, [1, 3])

    response = ask(lab, first, second)

    errors = [answer.error_code for answer in response.topics[0].partitions]
    assert errors == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    assert lab.partition("orders").isr == (1, 2)
