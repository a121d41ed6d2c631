import pytest

from barnabas_controller.managers.partitions.directories import decide_assign_replicas_to_dirs
from barnabas_core.metadata.partition_image import LOST_DIRECTORY
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from barnabas_core.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
)
from tests.support.controller_lab import ControllerLab, directory_id


@pytest.fixture
def lab() -> ControllerLab:
    return lab_at()


def lab_at(level: int | None = None) -> ControllerLab:
    lab = ControllerLab(metadata_level=level)
    lab.register_broker(1, dirs=2)
    lab.register_broker(2)
    lab.register_broker(3)
    lab.create_topic("orders", {0: [1, 2], 1: [2, 1], 2: [2, 3]})
    return lab


def assign(
    lab: ControllerLab,
    *wanted: tuple[bytes, bytes, list[int]],
    broker_id: int = 1,
    epoch: int | None = None,
) -> AssignReplicasToDirsResponse:
    """(directory, topic id, partitions) of each."""
    request = AssignReplicasToDirsRequest(
        broker_id,
        lab.image.cluster.brokers[broker_id].epoch if epoch is None else epoch,
        [
            DirectoryData(at, [TopicData(topic_id, [PartitionData(number) for number in numbers])])
            for at, topic_id, numbers in wanted
        ],
    )
    return lab.decide(decide_assign_replicas_to_dirs, request)


def errors(response: AssignReplicasToDirsResponse) -> list[int]:
    assert response.error_code == ErrorCode.NONE
    return [
        partition.error_code
        for directory in response.directories
        for topic in directory.topics
        for partition in topic.partitions
    ]


def test_a_broker_tells_where_its_replicas_lie(lab: ControllerLab) -> None:
    topic_id = lab.topic_id("orders")

    response = assign(lab, (directory_id(1, 0), topic_id, [0]), (directory_id(1, 1), topic_id, [1]))

    assert errors(response) == [ErrorCode.NONE, ErrorCode.NONE]
    assert lab.partition("orders", 0).directories == (directory_id(1, 0), directory_id(2))
    assert lab.partition("orders", 1).directories == (directory_id(2), directory_id(1, 1))
    assert (lab.partition("orders", 0).leader, lab.partition("orders", 0).leader_epoch) == (1, 0)


def test_what_was_told_before_costs_no_record(lab: ControllerLab) -> None:
    assign(lab, (directory_id(1, 0), lab.topic_id("orders"), [0]))

    assert errors(assign(lab, (directory_id(1, 0), lab.topic_id("orders"), [0]))) == [0]
    assert lab.records == []


def test_each_partition_has_its_own_error(lab: ControllerLab) -> None:
    response = assign(
        lab,
        (directory_id(1, 0), b"?" * 16, [0]),
        (directory_id(1, 0), lab.topic_id("orders"), [9, 2, 0]),
    )

    assert errors(response) == [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NONE,
    ]


@pytest.mark.parametrize("directory", [directory_id(1, 7), LOST_DIRECTORY])
def test_a_replica_in_an_offline_directory_leaves_isr_and_lead(
    lab: ControllerLab, directory: bytes
) -> None:
    assert errors(assign(lab, (directory, lab.topic_id("orders"), [0]))) == [ErrorCode.NONE]

    partition = lab.partition("orders")
    assert partition.directory_of(1) == directory
    assert (partition.leader, partition.isr) == (2, (2,))


def test_the_last_word_on_a_partition_counts(lab: ControllerLab) -> None:
    topic_id = lab.topic_id("orders")

    assign(lab, (LOST_DIRECTORY, topic_id, [0]), (directory_id(1, 1), topic_id, [0]))

    partition = lab.partition("orders")
    assert (partition.directory_of(1), partition.isr) == (directory_id(1, 1), (1, 2))


def test_a_broker_of_an_earlier_registration_is_refused(lab: ControllerLab) -> None:
    response = assign(lab, (directory_id(1, 0), lab.topic_id("orders"), [0]), epoch=-1)

    assert (response.error_code, response.directories) == (ErrorCode.STALE_BROKER_EPOCH, [])


def test_directories_are_unknown_below_their_metadata_version() -> None:
    lab = lab_at(level=16)

    response = assign(lab, (directory_id(1, 0), lab.topic_id("orders"), [0]))

    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
