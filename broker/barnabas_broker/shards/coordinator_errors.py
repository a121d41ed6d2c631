"""Answers of coordinators that are an error alone, in the place where each api has room for it."""

from collections.abc import Callable
from typing import Any, Final

from barnabas_core.server.error_response import error_response
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import (
    consumer_group_describe_response,
    delete_groups_response,
    describe_groups_response,
    join_group_response,
    offset_commit_response,
    offset_fetch_response,
    txn_offset_commit_response,
)
from barnabas_core.wire.schema import Message

_MANY_GROUPS_VERSION: Final = 8
Build = Callable[[Any, int, int], Message]
"""(request, error code, version)"""


_WHILE_LOADING: Final[dict[int, ErrorCode]] = {
    # Nothing is known of the member yet, and nothing is against it: as with Kafka.
    ApiKey.HEARTBEAT: ErrorCode.NONE,
    # The rebalance under way is forgotten; Java's client would take the error itself for fatal.
    ApiKey.SYNC_GROUP: ErrorCode.REBALANCE_IN_PROGRESS,
}


def coordinator_error(key: int, version: int, request: Message, error: ErrorCode) -> Message:
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        error = _WHILE_LOADING.get(key, error)
    build = _BUILDERS.get(key)
    if build is None:
        return error_response(ApiKey(key), request, error)
    return build(request, int(error), version)


def _join_group(request: Any, code: int, _: int) -> Message:  # noqa: ANN401 - by the table below
    return join_group_response.JoinGroupResponse(error_code=code, member_id=request.member_id)


def _offset_commit(request: Any, code: int, _: int) -> Message:  # noqa: ANN401
    module = offset_commit_response
    kinds = module.OffsetCommitResponseTopic, module.OffsetCommitResponsePartition
    return module.OffsetCommitResponse(topics=_committed_topics(request, code, *kinds))


def _txn_offset_commit(request: Any, code: int, _: int) -> Message:  # noqa: ANN401
    module = txn_offset_commit_response
    kinds = module.TxnOffsetCommitResponseTopic, module.TxnOffsetCommitResponsePartition
    return module.TxnOffsetCommitResponse(topics=_committed_topics(request, code, *kinds))


def _committed_topics(
    request: Any,  # noqa: ANN401
    code: int,
    topic_kind: Callable[[str, bytes, list[Any]], Any],
    partition_kind: Callable[[int, int], Any],
) -> list[Any]:
    return [
        topic_kind(
            topic.name,
            topic.topic_id,
            [partition_kind(one.partition_index, code) for one in topic.partitions],
        )
        for topic in request.topics
    ]


def _offset_fetch(request: Any, code: int, version: int) -> Message:  # noqa: ANN401
    module = offset_fetch_response
    if version < _MANY_GROUPS_VERSION:
        return module.OffsetFetchResponse(error_code=code)
    groups = [
        module.OffsetFetchResponseGroup(group.group_id, error_code=code) for group in request.groups
    ]
    return module.OffsetFetchResponse(groups=groups)


def _describe_groups(request: Any, code: int, _: int) -> Message:  # noqa: ANN401
    module = describe_groups_response
    groups = [module.DescribedGroup(error_code=code, group_id=group) for group in request.groups]
    return module.DescribeGroupsResponse(groups=groups)


def _delete_groups(request: Any, code: int, _: int) -> Message:  # noqa: ANN401
    module = delete_groups_response
    results = [module.DeletableGroupResult(group, code) for group in request.groups_names]
    return module.DeleteGroupsResponse(results=results)


def _consumer_group_describe(request: Any, code: int, _: int) -> Message:  # noqa: ANN401
    module = consumer_group_describe_response
    groups = [module.DescribedGroup(error_code=code, group_id=it) for it in request.group_ids]
    return module.ConsumerGroupDescribeResponse(groups=groups)


_BUILDERS: Final[dict[int, Build]] = {
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_group_describe,
}
