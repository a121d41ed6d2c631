"""Creating, growing and deleting topics: a real Kafka answers each request as our controller does.

Codes, messages, counts and configs must be the same; topic ids are drawn, and Kafka answers in no
order of its own, so answers are compared by name.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from barnabas_controller.managers.topics.create_partitions import decide_create_partitions
from barnabas_controller.managers.topics.create_topics import decide_create_topics
from barnabas_controller.managers.topics.delete_topics import decide_delete_topics
from barnabas_core.config.properties import parse_properties_text
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from barnabas_core.wire.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas_core.wire.messages.create_partitions_response import CreatePartitionsResponse
from barnabas_core.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from barnabas_core.wire.messages.delete_topics_response import DeleteTopicsResponse
from barnabas_core.wire.schema import ZERO_UUID, Message
from tests.support.controller_lab import SETTINGS, ControllerLab
from tests.support.kafka_node import KafkaNode
from tests.support.raw_client import RawClient

UNKNOWN_ID = b"no such topic id"
PREFIX = "rules-"


class Both:
    """Kafka's node and our controller, asked the same."""

    def __init__(self, kafka: KafkaNode) -> None:
        static = parse_properties_text(kafka.properties.read_text())
        self.lab = ControllerLab(replace(SETTINGS, node_id=1, static_configs=static))
        self.lab.register_broker(1)
        # Kafka makes the static value a dynamic default where ELR is enabled (KIP-966).
        self.lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "1")
        self.client = RawClient(("127.0.0.1", kafka.port))

    def create(
        self, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
    ) -> None:
        request = CreateTopicsRequest(list(topics), 30_000, validate_only)
        answers = self._ask(decide_create_topics, request, version, CreateTopicsResponse)
        _same([[_without_id(each) for each in one.topics] for one in answers])

    def grow(self, *topics: CreatePartitionsTopic, version: int = 3) -> None:
        request = CreatePartitionsRequest(list(topics), 30_000, validate_only=False)
        answers = self._ask(decide_create_partitions, request, version, CreatePartitionsResponse)
        _same([one.results for one in answers])

    def delete(self, request: DeleteTopicsRequest, version: int = 6) -> None:
        request.timeout_ms = 30_000
        answers = self._ask(decide_delete_topics, request, version, DeleteTopicsResponse)
        _same([[_without_id(each) for each in one.responses] for one in answers])

    def _ask(
        self, decide: Callable[..., Any], request: Message, version: int, kind: type[Any]
    ) -> tuple[Any, Any]:
        theirs = self.client.ask(request, version, kind)
        return theirs, self.lab.decide(decide, request, version)


def _without_id(answer: Any) -> Any:  # noqa: ANN401 - any answer that has one
    answer.topic_id = ZERO_UUID
    return answer


def _same(answers: Sequence[Sequence[Any]]) -> None:
    theirs, ours = (sorted(_lines(each)) for each in answers)
    assert ours == theirs


def _lines(answers: Sequence[Any]) -> Iterator[str]:
    """One for each answer and each config in it: a difference is found at a glance."""
    for answer in answers:
        configs = getattr(answer, "configs", None) or []
        yield from (f"{answer.name}: {config}" for config in configs)
        yield repr(replace(answer, configs=[]) if configs else answer)


@pytest.fixture(scope="module")
def names() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def name(names: Iterator[int]) -> str:
    return f"{PREFIX}{next(names)}"


@pytest.fixture
def both(kafka: KafkaNode) -> Iterator[Both]:
    both = Both(kafka)
    with both.client:
        yield both


def topic(name: str, partitions: int = 1, factor: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)


def assigned(name: str, *assignments: tuple[int, list[int]]) -> CreatableTopic:
    by_hand = [CreatableReplicaAssignment(number, ids) for number, ids in assignments]
    return CreatableTopic(name, -1, -1, by_hand)


def configured(name: str, configs: Mapping[str, str | None]) -> CreatableTopic:
    wanted = [CreatableTopicConfig(key, value) for key, value in configs.items()]
    return CreatableTopic(name, 1, 1, [], wanted)


@pytest.mark.parametrize("version", range(2, 8))
def test_topics_are_created_with_the_same_answer_at_every_version(
    both: Both, name: str, version: int
) -> None:
    both.create(topic(name, partitions=2), topic(f"{name}-default", -1, -1), version=version)
    both.create(topic(name), version=version)


def test_configs_come_back_as_kafkas_do(both: Both, name: str) -> None:
    both.create(configured(name, {"cleanup.policy": "compact", "retention.ms": "77"}))


@pytest.mark.parametrize(
    "bad",
    ["", ".", "..", "x" * 250, "with space", "sla/sh", "ä", "__cluster_metadata"],
)
def test_names_are_refused_alike(both: Both, bad: str) -> None:
    both.create(topic(bad))


def test_collisions_are_refused_alike(both: Both, name: str) -> None:
    both.create(topic(f"{name}.a_b"))
    both.create(topic(f"{name}_a.b"))


def test_numbers_and_duplicates_are_refused_alike(both: Both, name: str) -> None:
    both.create(
        topic(f"{name}-0", partitions=0),
        topic(f"{name}-1", partitions=-2),
        topic(f"{name}-2", factor=0),
        topic(f"{name}-3", factor=-2),
        topic(f"{name}-4", factor=2),
        topic(f"{name}-5"),
        topic(f"{name}-5"),
    )


def test_assignments_are_refused_alike(both: Both, name: str) -> None:
    with_count = assigned(f"{name}-count", (0, [1]))
    with_count.num_partitions = 1
    with_factor = assigned(f"{name}-factor", (0, [1]))
    with_factor.replication_factor = 1
    both.create(
        assigned(f"{name}-good", (1, [1]), (0, [1])),
        assigned(f"{name}-empty", (0, [])),
        assigned(f"{name}-unknown", (0, [1, 9])),
        assigned(f"{name}-twice", (0, [1, 1])),
        assigned(f"{name}-gap", (0, [1]), (2, [1])),
        assigned(f"{name}-repeated", (0, [1]), (0, [1])),
        with_count,
        with_factor,
    )


def test_configs_are_refused_alike(both: Both, name: str) -> None:
    both.create(
        configured(f"{name}-null", {"retention.ms": None, "cleanup.policy": None}),
        configured(f"{name}-unknown", {"no.such.config": "1"}),
        configured(f"{name}-value", {"retention.ms": "soon"}),
        configured(f"{name}-bound", {"segment.bytes": "1"}),
        configured(f"{name}-lag", {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "1"}),
    )


def test_validation_alone_answers_alike(both: Both, name: str) -> None:
    both.create(topic(name), topic(f"{name}-bad", factor=5), validate_only=True)
    both.create(topic(name))


def test_too_much_at_once_is_refused_alike(both: Both, name: str) -> None:
    both.create(topic(name), topic(f"{name}-large", partitions=10_000))


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_alike(both: Both, name: str, version: int) -> None:
    both.create(topic(name, partitions=2), topic(f"{name}-b"))

    def to(count: int, *assignments: list[int]) -> CreatePartitionsTopic:
        by_hand = [CreatePartitionsAssignment(ids) for ids in assignments]
        return CreatePartitionsTopic(name, count, by_hand or None)

    for wanted in (
        to(2),
        to(1),
        to(0),
        to(4, [1]),
        to(3, [9]),
        to(3, []),
        to(3, [1, 1]),
        to(3, [1]),
        to(5),
        CreatePartitionsTopic(name, 6, []),
        CreatePartitionsTopic(f"{name}-none", 2, None),
    ):
        both.grow(wanted, version=version)
    twice = CreatePartitionsTopic(f"{name}-b", 3, None)
    both.grow(twice, to(6), twice, version=version)


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_are_deleted_by_name_alike(both: Both, name: str, version: int) -> None:
    both.create(topic(name), topic(f"{name}-b"))

    names = [name, f"{name}-none", f"{name}-b", f"{name}-b"]
    both.delete(DeleteTopicsRequest(topic_names=names), version)
    both.delete(DeleteTopicsRequest(topic_names=[name]), version)


def test_topics_are_deleted_by_id_and_name_alike(both: Both, name: str) -> None:
    both.create(topic(name), topic(f"{name}-b"))

    both.delete(
        DeleteTopicsRequest(
            topics=[
                DeleteTopicState(name=name),
                DeleteTopicState(topic_id=UNKNOWN_ID),
                DeleteTopicState(),
                DeleteTopicState(name=f"{name}-b", topic_id=UNKNOWN_ID),
            ]
        )
    )
