"""CreateTopics: what is created, and what is refused with which error."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from barnabas_controller.managers.topics.create_topics import decide_create_topics
from barnabas_controller.managers.view import ControllerSettings
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE, ConfigResource
from barnabas_core.metadata.partition_image import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreatableTopicResult
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from tests.support.controller_lab import SETTINGS, ControllerLab, directory_id

LEVEL_WITHOUT_DIRECTORIES = 16


def lab_of(broker_count: int = 3, settings: ControllerSettings = SETTINGS) -> ControllerLab:
    lab = ControllerLab(settings)
    for broker_id in range(1, broker_count + 1):
        lab.register_broker(broker_id)
    return lab


def topic(name: str = "orders", partitions: int = 1, factor: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)


def assigned(assignments: Mapping[int, Sequence[int]], name: str = "orders") -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(n, list(ids)) for n, ids in assignments.items()],
    )


def configured(configs: Mapping[str, str | None], name: str = "orders") -> CreatableTopic:
    wanted = topic(name)
    wanted.configs = [CreatableTopicConfig(key, value) for key, value in configs.items()]
    return wanted


def create(
    lab: ControllerLab, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return lab.decide(decide_create_topics, request, version).topics


def refusal(lab: ControllerLab, wanted: CreatableTopic) -> tuple[ErrorCode, str | None]:
    """The error of a topic that is not created."""
    (answer,) = create(lab, wanted)
    assert lab.records == []
    return ErrorCode(answer.error_code), answer.error_message


# --- what is created


def test_a_new_topic_has_its_partitions_led_by_their_first_replica_and_all_in_sync() -> None:
    lab = lab_of()

    (answer,) = create(lab, topic(partitions=4, factor=3))

    assert (answer.error_code, answer.error_message) == (0, None)
    assert answer.topic_id == lab.topic_id("orders")
    for number in range(4):
        partition = lab.partition("orders", number)
        assert sorted(partition.replicas) == [1, 2, 3]
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_records_are_the_topic_then_its_configs_then_its_partitions() -> None:
    lab = lab_of()
    wanted = configured({"retention.ms": "1000"})
    wanted.num_partitions = 2

    create(lab, wanted)

    kinds = [type(record) for record in lab.records]
    assert kinds == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]


def test_minus_one_means_the_defaults_of_the_controller() -> None:
    lab = lab_of(settings=replace(SETTINGS, partition_count=5, default_replication_factor=2))

    (answer,) = create(lab, topic(partitions=-1, factor=-1))

    assert (answer.num_partitions, answer.replication_factor) == (5, 2)
    assert len(lab.partition("orders", 4).replicas) == 2


def test_an_assignment_by_hand_is_taken_as_it_is() -> None:
    lab = lab_of()

    (answer,) = create(lab, assigned({1: [2, 3], 0: [3, 1]}))

    assert (answer.num_partitions, answer.replication_factor) == (2, 2)
    assert lab.partition("orders", 0).replicas == (3, 1)
    assert lab.partition("orders", 1).replicas == (2, 3)
    assert list(lab.image.topics.by_id[answer.topic_id].partitions) == [0, 1]


def test_replicas_that_are_fenced_or_leaving_are_not_in_sync_and_do_not_lead() -> None:
    lab = lab_of()
    lab.change_broker(1, fenced=True)
    lab.change_broker(2, in_controlled_shutdown=True)

    create(lab, assigned({0: [1, 2, 3]}))

    assert lab.partition("orders").isr == (3,)
    assert lab.partition("orders").leader == 3


def test_a_directory_is_named_where_the_broker_has_only_one() -> None:
    lab = lab_of(1)
    lab.register_broker(2, dirs=2)
    lab.register_broker(3, dirs=0)

    create(lab, assigned({0: [1, 2, 3]}))

    expected = (directory_id(1), UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)
    assert lab.partition("orders").directories == expected


def test_no_directories_are_written_before_the_metadata_version_that_knows_them() -> None:
    lab = ControllerLab(metadata_level=LEVEL_WITHOUT_DIRECTORIES)
    lab.register_broker(1)

    create(lab, topic())

    assert lab.partition("orders").directories == (MIGRATING_DIRECTORY,)


def test_brokers_that_leave_or_have_every_directory_cordoned_take_no_new_replicas() -> None:
    lab = lab_of(4)
    lab.change_broker(1, in_controlled_shutdown=True)
    cordon(lab, 2, [directory_id(2)])
    lab.register_broker(4, dirs=2)
    cordon(lab, 4, [directory_id(4, 1)])

    create(lab, topic(partitions=20, factor=2))

    kept = {b for number in range(20) for b in lab.partition("orders", number).replicas}
    assert kept == {3, 4}


def cordon(lab: ControllerLab, broker_id: int, directories: list[bytes]) -> None:
    epoch = lab.image.cluster.brokers[broker_id].epoch
    lab.apply(
        [
            BrokerRegistrationChangeRecord(
                broker_id=broker_id, broker_epoch=epoch, cordoned_log_dirs=directories
            )
        ]
    )


def test_configs_are_written_and_answered_with_where_they_come_from() -> None:
    lab = lab_of(
        settings=replace(
            SETTINGS, static_configs={"log.retention.hours": "1", "log.segment.bytes": "2000000"}
        )
    )
    lab.set_config(4, "", "log.segment.bytes", "3000000")

    (answer,) = create(lab, configured({"cleanup.policy": "compact"}))

    resource = ConfigResource(TOPIC_RESOURCE, "orders")
    assert lab.image.configs[resource] == {"cleanup.policy": "compact"}
    told = {each.name: (each.value, each.config_source) for each in answer.configs or ()}
    assert told["cleanup.policy"] == ("compact", 1)
    assert told["segment.bytes"] == ("3000000", 3)
    assert told["retention.ms"] == ("3600000", 4)
    assert told["min.insync.replicas"] == ("1", 5)
    assert list(told) == sorted(told)


def test_older_answers_have_no_configs() -> None:
    lab = lab_of()

    (answer,) = create(lab, topic(), version=4)

    assert (answer.num_partitions, answer.configs) == (-1, [])
    assert lab.topic_id("orders")


def test_validate_only_answers_as_if_and_creates_nothing() -> None:
    lab = lab_of()

    good, bad = create(lab, topic("good"), topic("bad", factor=9), validate_only=True)

    assert good.error_code == 0
    assert bad.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert lab.records == []


def test_topics_are_answered_in_their_order_and_fail_one_by_one() -> None:
    lab = lab_of()

    answers = create(lab, topic("z"), topic("bad", partitions=0), topic("a"))

    assert [answer.name for answer in answers] == ["z", "bad", "a"]
    assert [answer.error_code for answer in answers] == [0, ErrorCode.INVALID_PARTITIONS, 0]
    assert sorted(lab.image.topics.id_by_name) == ["a", "z"]


# --- names


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        ("a/b", "'a/b' contains one or more characters other than ASCII alphanumerics, "),
        ("ä", "'ä' contains one or more characters other than ASCII alphanumerics, "),
        ("a\n", "'a\n' contains one or more characters other than ASCII alphanumerics, "),
    ],
)
def test_names_that_are_not_legal_are_refused(name: str, fault: str) -> None:
    code, message = refusal(lab_of(), topic(name))

    assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert message is not None
    assert message.startswith(f"Topic name is invalid: {fault}")


def test_a_name_of_249_characters_is_legal() -> None:
    (answer,) = create(lab_of(), topic("x" * 249))

    assert answer.error_code == 0


def test_a_topic_that_exists_is_not_created_again() -> None:
    lab = lab_of()
    create(lab, topic("a_b"))

    assert refusal(lab, topic("a_b")) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'a_b' already exists.",
    )


@pytest.mark.parametrize(
    ("existing", "name"), [("a.b", "a_b"), ("a_b.c", "a.b_c"), ("_" * 20, "." + "_" * 19)]
)
def test_names_that_differ_only_in_dots_and_underscores_collide(existing: str, name: str) -> None:
    lab = lab_of()
    create(lab, topic(existing))

    assert refusal(lab, topic(name)) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"Topic '{name}' collides with existing topic: {existing}",
    )


def test_names_collide_within_one_request_too() -> None:
    answers = create(lab_of(), topic("a.b"), topic("a_b"))

    codes = [answer.error_code for answer in answers]
    assert codes == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_a_name_with_other_dots_collides_with_nothing() -> None:
    lab = lab_of()
    create(lab, topic("a.b"))

    (answer,) = create(lab, topic("ab_"))

    assert answer.error_code == 0


def test_a_name_given_twice_is_refused_and_answered_once() -> None:
    lab = lab_of()

    answers = create(lab, topic("twice"), topic("once"), topic("twice"))

    assert [answer.name for answer in answers] == ["twice", "once"]
    assert answers[0].error_code == ErrorCode.INVALID_REQUEST
    assert answers[0].error_message == "Duplicate topic name."
    assert list(lab.image.topics.id_by_name) == ["once"]


def test_the_metadata_topic_cannot_be_created() -> None:
    assert refusal(lab_of(), topic("__cluster_metadata")) == (
        ErrorCode.INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    )


def test_the_internal_topics_of_coordinators_are_created_like_any_other() -> None:
    (answer,) = create(lab_of(), topic("__consumer_offsets", partitions=50))

    assert answer.error_code == 0


# --- numbers, brokers, assignments


@pytest.mark.parametrize("count", [0, -2])
def test_a_partition_count_must_be_positive(count: int) -> None:
    assert refusal(lab_of(), topic(partitions=count)) == (
        ErrorCode.INVALID_PARTITIONS,
        "Number of partitions was set to an invalid non-positive value.",
    )


@pytest.mark.parametrize("factor", [0, -2])
def test_a_replication_factor_must_be_positive(factor: int) -> None:
    assert refusal(lab_of(), topic(factor=factor)) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    )


def test_a_replication_factor_above_the_number_of_brokers_is_refused() -> None:
    assert refusal(lab_of(2), topic(factor=3)) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 "
            "cannot be reached because only 2 broker(s) are registered or some brokers have all "
            "their log directories cordoned."
        ),
    )


def test_nothing_is_placed_while_all_brokers_are_fenced() -> None:
    lab = lab_of(1)
    lab.change_broker(1, fenced=True)

    assert refusal(lab, topic()) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or "
            "have all their log directories cordoned."
        ),
    )


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        ({0: []}, "The manual partition assignment includes an empty replica list."),
        (
            {0: [1, 9]},
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            {0: [1, 2, 1]},
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            {0: [1, 2], 1: [3]},
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this "
                "is not consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
        ({0: [1], 2: [2]}, "partitions should be a consecutive 0-based integer sequence"),
    ],
)
def test_assignments_by_hand_are_checked(
    assignments: Mapping[int, Sequence[int]], message: str
) -> None:
    found = refusal(lab_of(), assigned(assignments))

    assert found == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def test_a_partition_is_assigned_once() -> None:
    wanted = assigned({0: [1]})
    wanted.assignments *= 2

    assert refusal(lab_of(), wanted) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Found multiple manual partition assignments for partition 0",
    )


def test_an_assignment_to_brokers_that_are_all_inactive_is_refused() -> None:
    lab = lab_of()
    lab.change_broker(1, fenced=True)
    lab.change_broker(2, in_controlled_shutdown=True)

    assert refusal(lab, assigned({0: [1, 2]})) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        (
            "All brokers specified in the manual partition assignment for partition 0 are fenced "
            "or in controlled shutdown."
        ),
    )


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [("replication_factor", 1, "replication factor"), ("num_partitions", 1, "numPartitions")],
)
def test_an_assignment_by_hand_goes_without_numbers(field: str, value: int, what: str) -> None:
    wanted = assigned({0: [1]})
    setattr(wanted, field, value)

    assert refusal(lab_of(), wanted) == (
        ErrorCode.INVALID_REQUEST,
        f"A manual partition assignment was specified, but {what} was not set to -1.",
    )


# --- configs, size


def test_a_config_without_a_value_is_refused() -> None:
    found = refusal(lab_of(), configured({"retention.ms": None}))

    message = "Null value not supported for topic configs: retention.ms"
    assert found == (ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize("configs", [{"no.such": "1"}, {"retention.ms": "soon"}])
def test_configs_that_are_wrong_are_refused(configs: Mapping[str, str]) -> None:
    code, message = refusal(lab_of(), configured(configs))

    assert code == ErrorCode.INVALID_CONFIG
    assert message


@pytest.mark.parametrize("partitions", [3, 2**31 - 1])
def test_a_request_for_too_many_partitions_is_refused_whole(partitions: int) -> None:
    lab = lab_of(settings=replace(SETTINGS, max_records_per_decision=4))

    answers = create(lab, topic("a", partitions=2), topic("b", partitions=partitions))

    assert {answer.error_code for answer in answers} == {ErrorCode.POLICY_VIOLATION}
    assert lab.records == []


def test_a_request_that_makes_too_many_records_is_refused_whole() -> None:
    lab = lab_of(settings=replace(SETTINGS, max_records_per_decision=4))

    answers = create(lab, topic("a", partitions=2), topic("b", partitions=2))

    assert {answer.error_code for answer in answers} == {ErrorCode.POLICY_VIOLATION}
    assert lab.records == []


def test_a_default_that_changes_between_two_creations_is_told_anew() -> None:
    lab = lab_of()
    create(lab, topic("a"))

    lab.set_config(4, "", "log.retention.ms", "5000")
    (answer,) = create(lab, topic("b"))

    told = {each.name: (each.value, each.config_source) for each in answer.configs or ()}
    assert told["retention.ms"] == ("5000", 3)
