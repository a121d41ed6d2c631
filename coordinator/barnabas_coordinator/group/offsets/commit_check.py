"""What OffsetCommit and TxnOffsetCommit have in common: the topics, the sizes and the records."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from barnabas_coordinator.group.group_state import Claim, GroupState
from barnabas_coordinator.group.offsets.offset_record import BATCH_HEAD_BYTES, commit_bytes_max
from barnabas_coordinator.group.offsets.simple_group import find_group
from barnabas_coordinator.shard.decision import Env, Record, Request
from barnabas_core.metadata.topics_image import TopicImage, TopicsImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue

_GROUP_ID_NOT_FOUND_VERSION = 9


class WantedPartition(Protocol):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class CommitApi(NamedTuple):
    """What the two apis call the same things."""

    topic: Callable[[str, bytes, list[Any]], Any]
    """(name, topic id, partitions) of an answer."""
    partition: Callable[[int, int], Any]
    """(index, error code)"""
    topic_ids_version: int
    """From which on topics are named by their ids."""
    is_transactional: bool


@runtime_checkable
class _HasStaleCommits(Protocol):
    """A group where a stale epoch is good for what the member had then and has still."""

    def check_commit_of(self, claim: Claim, topic_id: bytes, partition: int) -> ErrorCode: ...


P = TypeVar("P", bound=WantedPartition)


class CommitCheck:
    """Of one request: says of each partition whether it may be committed, and keeps the records.

    In Kafka's order: what the topics say goes first, and a request of which nothing is left then
    does not concern the group at all.
    """

    def __init__(self, state: GroupState, request: Request, api: CommitApi, env: Env) -> None:
        wanted: Any = request.message  # of either api: they have these fields in common
        self._state = state
        self._topics: Iterable[Any] = wanted.topics
        self._group_id: str = wanted.group_id
        self._api = api
        self._env = env
        self._claim = Claim(
            member_id=wanted.member_id,
            group_instance_id=wanted.group_instance_id,
            generation=wanted.generation_id_or_member_epoch,
            api_version=request.context.api_version,
            is_transactional=api.is_transactional,
        )
        self.answered: list[Any] = []
        """Topics, as `take_all` leaves them."""
        self._group_error: ErrorCode | None = None
        self._expire_at_ms = -1
        self._bytes = BATCH_HEAD_BYTES
        self.records: list[Record] = []

    def expire_after(self, retention_ms: int) -> None:
        """Said by clients of old: `-1` is what the brokers are set to."""
        if retention_ms != -1:
            self._expire_at_ms = self._env.now_ms + retention_ms

    @property
    def is_too_large(self) -> bool:
        return self._bytes > self._state.settings.batch_bytes_max

    def take_all(self) -> None:
        by_id = self._claim.api_version >= self._api.topic_ids_version
        for one in self._topics:
            topic, missing = _find_topic(
                self._env.image.topics, one.name, one.topic_id, by_id=by_id
            )
            partitions = [
                self._api.partition(each.partition_index, self._take(topic, missing, each))
                for each in one.partitions
            ]
            self.answered.append(self._api.topic(one.name, one.topic_id, partitions))

    def refuse(self, error: ErrorCode) -> None:
        """All that was taken."""
        self.records.clear()
        for topic in self.answered:
            for partition in topic.partitions:
                if partition.error_code == ErrorCode.NONE:
                    partition.error_code = error

    def _take(self, topic: TopicImage | None, missing: ErrorCode, wanted: P) -> ErrorCode:
        if topic is None:
            return missing
        if wanted.partition_index not in topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        error = self._check_claim(topic.id, wanted.partition_index)
        if error is not ErrorCode.NONE:
            return error
        metadata = wanted.committed_metadata or ""
        if _utf16_units(metadata) > self._state.settings.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        self._bytes += commit_bytes_max(self._group_id, topic.name, metadata)
        self.records.append(self._record(topic, wanted, metadata))
        return ErrorCode.NONE

    def _check_claim(self, topic_id: bytes, partition: int) -> ErrorCode:
        if self._group_error is None:
            self._group_error = check_group(self._state, self._group_id, self._claim, self._env)
        error = self._group_error
        if error is ErrorCode.STALE_MEMBER_EPOCH:
            group = self._state.groups[self._group_id]
            if isinstance(group, _HasStaleCommits):
                error = group.check_commit_of(self._claim, topic_id, partition)
            if error is ErrorCode.STALE_MEMBER_EPOCH and self._claim.is_transactional:
                return ErrorCode.ILLEGAL_GENERATION
        return error

    def _record(self, topic: TopicImage, wanted: P, metadata: str) -> Record:
        return Record(
            OffsetCommitKey(self._group_id, topic.name, wanted.partition_index),
            OffsetCommitValue(
                offset=wanted.committed_offset,
                leader_epoch=wanted.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=self._env.now_ms,
                expire_timestamp=self._expire_at_ms,
                topic_id=topic.id,
            ),
        )


def check_group(state: GroupState, group_id: str, claim: Claim, env: Env) -> ErrorCode:
    group = find_group(state, group_id)
    if group is not None:
        return group.check_commit(claim, env)
    if claim.generation < 0:  # a simple group begins with its first offset
        return ErrorCode.NONE
    if not claim.is_transactional and claim.api_version >= _GROUP_ID_NOT_FOUND_VERSION:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.ILLEGAL_GENERATION


def _find_topic(
    topics: TopicsImage, name: str, topic_id: bytes, *, by_id: bool
) -> tuple[TopicImage | None, ErrorCode]:
    """The topic, and what is to be answered if there is none."""
    if by_id:
        return topics.get(topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    return topics.named(name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _utf16_units(text: str) -> int:
    """What Kafka counts, whatever the setting is called."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
