"""Commits, transactions, deletions and deaths at random, beside a model that is easy to believe."""

from random import Random

import pytest

from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_response import OffsetDeleteResponse
from tests.support.offsets_lab import OffsetsLab, image_of, offsets_lab

GROUPS = ("one", "two")
TOPICS = ("cats", "dogs")
PRODUCERS = (Producer(1, 0), Producer(2, 0), Producer(3, 0))
At = tuple[str, str, int]
PLACES: list[At] = [(group, topic, part) for group in GROUPS for topic in TOPICS for part in (0, 1)]
STEPS = 150


class Model:
    """All commits in the order of their writing; what counts is the last whose fate allows it."""

    def __init__(self) -> None:
        self.commits: list[tuple[At, int, Producer | None]] = []

    def offset(self, at: At) -> int:
        counting = [
            offset for place, offset, open_by in self.commits if place == at and not open_by
        ]
        return counting[-1] if counting else -1

    def is_pending(self, at: At) -> bool:
        return any(place == at and open_by for place, _, open_by in self.commits)

    def is_there(self, group: str) -> bool:
        return any(place[0] == group for place, _, _ in self.commits)

    def end(self, producer: Producer, *, commit: bool) -> None:
        self.commits = [
            (place, offset, None if open_by == producer else open_by)
            for place, offset, open_by in self.commits
            if commit or open_by != producer
        ]

    def forget(
        self, *, group: str | None = None, topic: str | None = None, at: At | None = None
    ) -> None:
        self.commits = [
            one
            for one in self.commits
            if not (one[0][0] == group or one[0][1] == topic or one[0] == at)
        ]


class Walk:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lab: OffsetsLab = offsets_lab(image_of(TOPICS))
        self.model = Model()
        self.generations = dict.fromkeys(TOPICS, 0)

    def step(self, number: int) -> None:
        acts = [
            self.commit,
            self.commit,
            self.commit_in_transaction,
            self.commit_in_transaction,
            self.end_transaction,
            self.delete_offset,
            self.delete_group,
            self.recreate_topic,
            self.die,
        ]
        self.random.choices(acts, [8, 8, 8, 8, 8, 4, 1, 1, 2])[0](number)
        for at in PLACES:
            self.check(at)
        there = sum(self.model.offset(at) != -1 for at in PLACES)
        assert self.lab.machine.state.offsets.count == there
        self.lab.check_replay()

    def check(self, at: At) -> None:
        assert self.lab.offset(at) == self.model.offset(at), at
        stable = self.lab.fetched(at, require_stable=True)
        unstable = stable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert unstable == self.model.is_pending(at), at

    def commit(self, number: int) -> None:
        at = self.random.choice(PLACES)
        assert self.lab.commit(at, number) is ErrorCode.NONE
        self.model.commits.append((at, number, None))

    def commit_in_transaction(self, number: int) -> None:
        at, producer = self.random.choice(PLACES), self.random.choice(PRODUCERS)
        assert self.lab.commit_in_transaction(producer, at, number) is ErrorCode.NONE
        self.model.commits.append((at, number, producer))

    def end_transaction(self, _: int) -> None:
        producer, commit = self.random.choice(PRODUCERS), self.random.random() < 0.7
        self.lab.end_transaction(producer, commit=commit)
        self.model.end(producer, commit=commit)

    def delete_offset(self, _: int) -> None:
        group, topic, partition = at = self.random.choice(PLACES)
        topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(partition)])]
        answer = self.lab.ask(OffsetDeleteRequest(group, topics), OffsetDeleteResponse)
        assert (answer.error_code == ErrorCode.NONE) == self.model.is_there(group)
        self.model.forget(at=at)

    def delete_group(self, _: int) -> None:
        group = self.random.choice(GROUPS)
        answer = self.lab.ask(DeleteGroupsRequest([group]), DeleteGroupsResponse)
        assert (answer.results[0].error_code == ErrorCode.NONE) == self.model.is_there(group)
        self.model.forget(group=group)

    def recreate_topic(self, _: int) -> None:
        topic = self.random.choice(TOPICS)
        self.generations[topic] += 1
        self.lab.set_image(image_of(TOPICS, self.generations))
        self.model.forget(topic=topic)

    def die(self, _: int) -> None:
        self.lab.reload()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_the_last_commit_that_counts_is_fetched(seed: int) -> None:
    walk = Walk(seed)
    print(f"seed {seed}")

    for number in range(STEPS):
        walk.step(number)
