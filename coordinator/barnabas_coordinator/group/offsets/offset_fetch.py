"""OffsetFetch (key 9), decided v1-v10.

v2 no list of topics means all, and an error of the whole answer; v3 throttle time; v5 leader epoch;
v7 `require_stable`: UNSTABLE_OFFSET_COMMIT while a transaction has an offset pending; v8 many
groups; v9 member id and epoch of the consumer protocol; v10 topic ids, UNKNOWN_TOPIC_ID. Refused:
v0, as in Kafka 4.

A group that is not there has no offsets: no error. An offset that was committed for another topic
of the name is not given for this topic's id. Of all topics, those that are gone have no id to be
given under and are left out from v10 on.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.offset_store import Committed
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.metadata.topics_image import TopicsImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas_core.wire.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from barnabas_core.wire.schema import ZERO_UUID

_GROUP_ERROR_VERSION: Final = 2
_GROUPS_VERSION: Final = 8
_TOPIC_IDS_VERSION: Final = 10
_NO_OFFSET: Final = -1
_NO_EPOCH: Final = -1


def decide_offset_fetch(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, OffsetFetchRequest)
    version = request.context.api_version
    groups = wanted.groups if version >= _GROUPS_VERSION else [_single(wanted)]
    topics = env.image.topics if version >= _TOPIC_IDS_VERSION else None
    found = [_Fetch(state, each, topics, wanted.require_stable).answer() for each in groups]
    if version >= _GROUPS_VERSION:
        answer = OffsetFetchResponse(groups=found)
    else:
        answer = _single_answer(found[0], groups[0], version)
    touched = tuple(dict.fromkeys(group.group_id for group in groups))
    return [Decision(touched, answers=[Answer(request.call, answer)])]


class _Fetch:
    """Of one group; `ids`: topics are spoken of by id."""

    def __init__(
        self,
        state: GroupState,
        wanted: OffsetFetchRequestGroup,
        ids: TopicsImage | None,
        require_stable: bool,  # noqa: FBT001
    ) -> None:
        self._state = state
        self._wanted = wanted
        self._ids = ids
        self._require_stable = require_stable

    def answer(self) -> OffsetFetchResponseGroup:
        wanted = self._wanted
        group = self._state.groups.get(wanted.group_id)
        if group is not None:
            error = group.check_fetch(wanted.member_id or "", wanted.member_epoch)
            if error is not ErrorCode.NONE:
                return OffsetFetchResponseGroup(wanted.group_id, error_code=error)
        topics = self._all() if wanted.topics is None else map(self._topic, wanted.topics)
        return OffsetFetchResponseGroup(wanted.group_id, list(topics))

    def _topic(self, wanted: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
        if self._ids is None:
            partitions = self._partitions(wanted.name, ZERO_UUID, wanted.partition_indexes)
            return OffsetFetchResponseTopics(wanted.name, partitions=partitions)
        topic = self._ids.get(wanted.topic_id)
        if topic is None:
            partitions = [
                _none(each, ErrorCode.UNKNOWN_TOPIC_ID) for each in wanted.partition_indexes
            ]
        else:
            partitions = self._partitions(topic.name, topic.id, wanted.partition_indexes)
        return OffsetFetchResponseTopics("", wanted.topic_id, partitions)

    def _all(self) -> Iterable[OffsetFetchResponseTopics]:
        for name, partitions in self._state.offsets.topics(self._wanted.group_id).items():
            if self._ids is None:
                found = self._partitions(name, ZERO_UUID, partitions)
                yield OffsetFetchResponseTopics(name, partitions=found)
            elif (topic := self._ids.named(name)) is not None:
                found = self._partitions(name, topic.id, partitions)
                yield OffsetFetchResponseTopics("", topic.id, found)

    def _partitions(
        self, topic: str, topic_id: bytes, wanted: Iterable[int]
    ) -> list[OffsetFetchResponsePartitions]:
        group_id = self._wanted.group_id
        committed = self._state.offsets.topics(group_id).get(topic, {})
        checked = self._require_stable and self._state.offsets.has_pending(group_id)
        return [
            _none(each, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            if checked and self._state.offsets.is_pending(group_id, topic, each)
            else _given(each, committed.get(each), topic_id)
            for each in wanted
        ]


def _given(
    partition: int, committed: Committed | None, topic_id: bytes
) -> OffsetFetchResponsePartitions:
    if committed is None:
        return _none(partition)
    offset, leader_epoch, metadata, _, _, committed_id = committed
    if committed_id != topic_id and ZERO_UUID not in (committed_id, topic_id):
        return _none(partition)
    return OffsetFetchResponsePartitions(partition, offset, leader_epoch, metadata)


def _none(partition: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(partition, _NO_OFFSET, _NO_EPOCH, "", error)


# --- one group, before v8


def _single(wanted: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = wanted.topics
    return OffsetFetchRequestGroup(
        group_id=wanted.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(one.name, partition_indexes=one.partition_indexes)
            for one in topics
        ],
    )


def _single_answer(
    found: OffsetFetchResponseGroup, wanted: OffsetFetchRequestGroup, version: int
) -> OffsetFetchResponse:
    if found.error_code != ErrorCode.NONE and version < _GROUP_ERROR_VERSION:
        found.topics = _error_topics(wanted, ErrorCode(found.error_code))
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    each.partition_index,
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata,
                    each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in found.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=found.error_code)


def _error_topics(
    wanted: OffsetFetchRequestGroup, error: ErrorCode
) -> list[OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponseTopics(
            topic.name, partitions=[_none(each, error) for each in topic.partition_indexes]
        )
        for topic in wanted.topics or ()
    ]
