"""DeleteTopics (key 20), served v1-v6.

v5 messages; v6 topics by id too. One record removes a topic with its partitions and its configs.
Knowingly missing: quotas for mutations (KIP-599).
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from barnabas_controller.managers.topics.refusal import TOO_MANY_RECORDS, Refused
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.topics_image import TopicImage, TopicsImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest
from barnabas_core.wire.messages.delete_topics_response import (
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.schema import ZERO_UUID

DELETION_DISABLED_FROM = 3
"""Older clients do not know the error of its own."""


class Wanted(NamedTuple):
    """A topic as a request names it."""

    name: str | None
    topic_id: bytes = ZERO_UUID


def decide_delete_topics(
    view: View, request: DeleteTopicsRequest, context: Context
) -> Result[DeleteTopicsResponse]:
    wanted = [Wanted(name) for name in request.topic_names]
    wanted += [Wanted(topic.name, topic.topic_id) for topic in request.topics]
    if not view.settings.delete_topics:
        is_known = context.api_version >= DELETION_DISABLED_FROM
        code = ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST
        return _all_refused(wanted, code, None if is_known else "Topic deletion is disabled.")
    deletion = _Deletion(view.image.topics, wanted)
    answers = list(deletion.answers())
    if len(deletion.deleted) > view.settings.max_records_per_decision:
        return _all_refused(wanted, ErrorCode.POLICY_VIOLATION, TOO_MANY_RECORDS)
    records = [RemoveTopicRecord(topic_id=topic_id) for topic_id in deletion.deleted]
    return Result(records, DeleteTopicsResponse(responses=answers))


class _Deletion:
    def __init__(self, topics: TopicsImage, wanted: list[Wanted]) -> None:
        self._topics = topics
        self._counts = Counter(wanted)
        self._given_ids = {each.topic_id: None for each in wanted if each.name is None}
        named = [topics.named(each.name or "") for each, n in self._counts.items() if n == 1]
        self._ids_of_names = {topic.id: None for topic in named if topic is not None}
        self.deleted: list[bytes] = []

    def answers(self) -> Iterator[DeletableTopicResult]:
        for each, count in self._counts.items():
            if each.name is None and each.topic_id in self._ids_of_names and count == 1:
                continue  # answered once, where its name is
            result = DeletableTopicResult(name=each.name, topic_id=each.topic_id)
            try:
                topic = self._find(each, count)
                result.name, result.topic_id = topic.name, topic.id
                self._check_given_once(each, topic)
                self.deleted.append(topic.id)
            except Refused as refused:
                result.error_code = refused.code
                result.error_message = refused.message
            yield result

    def _find(self, wanted: Wanted, count: int) -> TopicImage:
        name, topic_id = wanted
        _check_form(wanted, count)
        topic = self._topics.get(topic_id) if name is None else self._topics.named(name)
        if topic is not None:
            return topic
        if name is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
        )

    def _check_given_once(self, wanted: Wanted, topic: TopicImage) -> None:
        if wanted.name is not None and topic.id in self._given_ids:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "The provided topic name maps to an ID that was already supplied.",
            )


def _check_form(wanted: Wanted, count: int) -> None:
    name, topic_id = wanted
    fault = None
    if name is None and topic_id == ZERO_UUID:
        fault = "Neither topic name nor id were specified."
    elif name is not None and topic_id != ZERO_UUID:
        fault = "You may not specify both topic name and topic id."
    elif count > 1:
        fault = "Duplicate topic id." if name is None else "Duplicate topic name."
    if fault is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, fault)


def _all_refused(
    wanted: list[Wanted], code: ErrorCode, message: str | None
) -> Result[DeleteTopicsResponse]:
    answers = [
        DeletableTopicResult(
            name=each.name, topic_id=each.topic_id, error_code=code, error_message=message
        )
        for each in wanted
    ]
    return Result([], DeleteTopicsResponse(responses=answers))
