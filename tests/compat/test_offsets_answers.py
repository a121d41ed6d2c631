"""Offsets and groups without members: a real Kafka and our shard answer the same requests alike.

Known to differ, and not here: a commit that is too large for a batch (UNKNOWN_SERVER_ERROR from
Kafka 4, INVALID_COMMIT_OFFSET_SIZE from us), and a group whose last offset was deleted, which
Kafka forgets later.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import DeleteGroupsResponse
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.describe_groups_response import DescribeGroupsResponse
from barnabas_core.wire.messages.find_coordinator_request import FindCoordinatorRequest
from barnabas_core.wire.messages.find_coordinator_response import FindCoordinatorResponse
from barnabas_core.wire.messages.list_groups_request import ListGroupsRequest
from barnabas_core.wire.messages.list_groups_response import ListGroupsResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import OffsetCommitResponse
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_response import OffsetDeleteResponse
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import OffsetFetchResponse
from barnabas_core.wire.schema import Message, Struct
from tests.support.cluster_image import replayed, topic
from tests.support.kafka_node import KafkaNode
from tests.support.offsets_lab import offsets_lab
from tests.support.raw_client import RawClient

CATS, DOGS, NO_TOPIC = "offset-cats", "offset-dogs", "offset-mice"
GROUP, OTHER, NOBODY = "offset-group", "offset-other", "offset-nobody"
NO_ID = b"no topic's own id"[:16]
PARTITIONS = 2


class Question(NamedTuple):
    request: Message
    version: int
    answer: type[Message]


def commits(cats_id: bytes) -> Iterator[Question]:
    def commit(
        version: int,
        name: str = CATS,
        partition: int = 0,
        *,
        topic_id: bytes = cats_id,
        group: str = GROUP,
        generation: int = -1,
        member_id: str = "",
        metadata: str | None = "text",
    ) -> Question:
        wanted = OffsetCommitRequestPartition(partition, 100 + version, 3, metadata)
        one = OffsetCommitRequestTopic(name, topic_id, [wanted])
        if version < 10:
            one.topic_id = bytes(16)
        else:
            one.name = ""
        request = OffsetCommitRequest(group, generation, member_id, topics=[one])
        return Question(request, version, OffsetCommitResponse)

    for version in (2, 5, 8, 9):
        yield commit(version, generation=4, member_id="me")  # there is no such group yet
    for version in range(2, 11):
        yield commit(version)
        yield commit(version, partition=PARTITIONS)
        yield commit(version, NO_TOPIC, topic_id=NO_ID)
        yield commit(version, metadata="m" * 4097)
        yield commit(version, generation=4, member_id="me")
        yield commit(version, generation=4)
        yield commit(version, member_id="me")
    yield commit(9, partition=1, metadata=None)
    yield commit(9, metadata="é" * 4096)
    yield commit(9, metadata="🐈" * 2049)
    yield commit(9, group="")
    yield commit(9, DOGS, group=OTHER)


def fetches(cats_id: bytes) -> Iterator[Question]:
    for version in range(1, 8):
        for group in (GROUP, NOBODY, ""):
            topics = [
                OffsetFetchRequestTopic(CATS, [0, 1, 2]),
                OffsetFetchRequestTopic(NO_TOPIC, [0]),
            ]
            yield Question(OffsetFetchRequest(group, topics), version, OffsetFetchResponse)
            if version >= 2:
                yield Question(OffsetFetchRequest(group, None), version, OffsetFetchResponse)
    for version in range(8, 11):
        by_id = version >= 10
        topics_of = [
            OffsetFetchRequestTopics(
                "" if by_id else CATS, cats_id if by_id else bytes(16), [0, 2]
            ),
            OffsetFetchRequestTopics("" if by_id else NO_TOPIC, NO_ID if by_id else bytes(16), [0]),
        ]
        groups = [
            OffsetFetchRequestGroup(GROUP, topics=topics_of),
            OffsetFetchRequestGroup(OTHER, topics=None),
            OffsetFetchRequestGroup(NOBODY, topics=topics_of),
        ]
        for stable in (False, True):
            request = OffsetFetchRequest(groups=groups, require_stable=stable)
            yield Question(request, version, OffsetFetchResponse)
    member = [OffsetFetchRequestGroup(GROUP, "me", 4, topics=None)]
    yield Question(OffsetFetchRequest(groups=member), 9, OffsetFetchResponse)


def administration() -> Iterator[Question]:
    for version in range(7):
        yield Question(DescribeGroupsRequest([GROUP, NOBODY]), version, DescribeGroupsResponse)
    for version in range(6):
        yield Question(ListGroupsRequest(), version, ListGroupsResponse)
    for states in (["eMPTY"], [" empty "], ["Stable"], ["nonsense"]):
        yield Question(ListGroupsRequest(states), 5, ListGroupsResponse)
    for types in (["CLASSIC"], ["consumer"], ["nonsense"], ["nonsense", "classic"]):
        yield Question(ListGroupsRequest([], types), 5, ListGroupsResponse)
    wanted = [OffsetDeleteRequestTopic(CATS, [OffsetDeleteRequestPartition(1)])]
    gone = [OffsetDeleteRequestTopic(NO_TOPIC, [OffsetDeleteRequestPartition(1)])]
    for group in (GROUP, NOBODY, ""):
        for topics in (wanted, gone, []):
            yield Question(OffsetDeleteRequest(group, topics), 0, OffsetDeleteResponse)
    yield Question(OffsetFetchRequest(GROUP, None), 7, OffsetFetchResponse)
    for version in range(3):
        yield Question(DeleteGroupsRequest([GROUP, NOBODY]), version, DeleteGroupsResponse)
    yield Question(DeleteGroupsRequest([OTHER, ""]), 2, DeleteGroupsResponse)
    yield Question(DescribeGroupsRequest([GROUP]), 6, DescribeGroupsResponse)


@pytest.fixture(scope="module")
def client(kafka: KafkaNode) -> Iterator[RawClient]:
    for name in (CATS, DOGS):
        kafka.create_topic(name, {}, PARTITIONS)
    with RawClient(("127.0.0.1", kafka.port)) as client:
        until_the_coordinator_is_there(client)
        yield client


def until_the_coordinator_is_there(client: RawClient) -> None:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    probe = OffsetFetchRequest(GROUP, None)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        client.ask(request, 4, FindCoordinatorResponse)
        if client.ask(probe, 7, OffsetFetchResponse).error_code == ErrorCode.NONE:
            return
        time.sleep(0.2)
    raise AssertionError("Kafka has no coordinator after a minute")


def ids(client: RawClient) -> dict[str, bytes]:
    wanted = MetadataRequest([MetadataRequestTopic(name=name) for name in (CATS, DOGS)])
    found = client.ask(wanted, 12, MetadataResponse)
    return {one.name or "": one.topic_id for one in found.topics}


def test_offsets_and_groups_are_answered_alike(client: RawClient) -> None:
    topic_ids = ids(client)
    records = [
        record
        for name, topic_id in topic_ids.items()
        for record in topic(name, topic_id, replicas=[(1,)] * PARTITIONS)
    ]
    lab = offsets_lab(replayed(records)[1])

    different = []
    for request, version, answer in (
        *commits(topic_ids[CATS]),
        *fetches(topic_ids[CATS]),
        *administration(),
    ):
        theirs = sorted_answer(client.ask(request, version, answer))
        ours = sorted_answer(lab.ask(fitted(request, version), answer, version))
        if shown(theirs, version) != shown(ours, version):
            different.append(f"{request!r} v{version}\n  theirs {theirs!r}\n  ours   {ours!r}")

    assert not different, "\n".join(different)
    lab.check_replay()


def fitted(request: Message, version: int) -> Message:
    """As it arrives: without what the version has no room for."""
    return decode(type(request), version, encode(request, version))


def shown(answer: Message, version: int) -> bytes:
    return encode(answer, version)


def sorted_answer(answer: Message) -> Message:
    """Kafka promises no order; other tests may have groups of their own."""
    if isinstance(answer, ListGroupsResponse):
        answer.groups = [one for one in answer.groups if one.group_id.startswith("offset-")]
    _sort(answer)
    return answer


def _sort(struct: Struct) -> None:
    for row in struct.FIELDS:
        value = getattr(struct, row.name)
        if row.struct is not None and value:
            for each in value:
                _sort(each)
            value.sort(key=repr)
