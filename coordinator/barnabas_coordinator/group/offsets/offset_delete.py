"""OffsetDelete (key 47), decided v0.

Of a group without members anything may be deleted; of one whose members are consumers, what none of
them is subscribed to (GROUP_SUBSCRIBED_TO_TOPIC by partition); of one with members of another
kind, nothing (NON_EMPTY_GROUP). A partition without an offset is no error, a topic that is not
there is one. Pending offsets of transactions go too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from barnabas_coordinator.group.group_state import Group, GroupState, GroupType
from barnabas_coordinator.group.offsets.offset_record import deletion, offset_tombstone
from barnabas_coordinator.group.offsets.simple_group import find_group
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Record, Request
from barnabas_core.metadata.topics_image import TopicsImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
)
from barnabas_core.wire.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_CONSUMER: Final = "consumer"


def decide_offset_delete(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, OffsetDeleteRequest)
    group = find_group(state, wanted.group_id)
    error = _refusal(wanted.group_id, group)
    answer = OffsetDeleteResponse(error_code=error)
    touched = (wanted.group_id,)
    if group is None or error is not ErrorCode.NONE:
        return [Decision(touched, answers=[Answer(request.call, answer)])]
    answer.topics = [_answer(group, topic, env.image.topics) for topic in wanted.topics]
    taken = [
        topic
        for topic, one in zip(wanted.topics, answer.topics, strict=True)
        if all(each.error_code == ErrorCode.NONE for each in one.partitions)
    ]
    records = _tombstones(state, group.group_id, taken)
    limit = state.settings.batch_bytes_max
    return deletion(touched, records, [Answer(request.call, answer)], limit)


def _refusal(group_id: str, group: Group | None) -> ErrorCode:
    if not group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or group.state_name == "Dead":
        return ErrorCode.GROUP_ID_NOT_FOUND
    is_of_consumers = group.type is GroupType.CONSUMER or group.protocol_type == _CONSUMER
    if group.state_name != "Empty" and not is_of_consumers:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def _answer(
    group: Group, topic: OffsetDeleteRequestTopic, topics: TopicsImage
) -> OffsetDeleteResponseTopic:
    error = ErrorCode.NONE
    if topics.named(topic.name) is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif group.is_subscribed_to(topic.name):
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    partitions = [
        OffsetDeleteResponsePartition(each.partition_index, error) for each in topic.partitions
    ]
    return OffsetDeleteResponseTopic(topic.name, partitions)


def _tombstones(
    state: GroupState, group_id: str, topics: Iterable[OffsetDeleteRequestTopic]
) -> Iterator[Record]:
    offsets = state.offsets
    for topic in topics:
        for number in dict.fromkeys(each.partition_index for each in topic.partitions):
            is_there = offsets.get(group_id, topic.name, number) is not None
            if is_there or offsets.is_pending(group_id, topic.name, number):
                yield offset_tombstone(group_id, topic.name, number)
