"""A request answered by an error alone, in the place where its response has room for it.

Most responses have one error code on top. The others answer per item, and every item gets it: a
client looks for its topic or resource in the answer, and without it would wait for ever.
"""

from collections.abc import Callable
from typing import Any, Final

from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import (
    alter_client_quotas_response,
    alter_configs_response,
    alter_user_scram_credentials_response,
    create_acls_response,
    create_partitions_response,
    create_topics_response,
    delete_acls_response,
    delete_topics_response,
    describe_configs_response,
    elect_leaders_response,
    incremental_alter_configs_response,
)
from barnabas_core.wire.messages.alter_client_quotas_request import AlterClientQuotasRequest
from barnabas_core.wire.messages.alter_configs_request import AlterConfigsRequest
from barnabas_core.wire.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
)
from barnabas_core.wire.messages.create_acls_request import CreateAclsRequest
from barnabas_core.wire.messages.create_partitions_request import CreatePartitionsRequest
from barnabas_core.wire.messages.create_topics_request import CreateTopicsRequest
from barnabas_core.wire.messages.delete_acls_request import DeleteAclsRequest
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest
from barnabas_core.wire.messages.describe_configs_request import DescribeConfigsRequest
from barnabas_core.wire.messages.elect_leaders_request import ElectLeadersRequest
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.schema import Message


class NoErrorResponse(Exception):
    """The api has no room for an error: the connection is to be closed."""


def error_response(
    key: ApiKey, request: Message, error: ErrorCode, message: str | None = None
) -> Message:
    per_item = _PER_ITEM.get(key)
    if per_item is not None:
        return per_item(request, int(error), message)
    response = API_BY_KEY[key].response()
    names = {field.name for field in type(response).FIELDS}
    if "error_code" not in names:
        raise NoErrorResponse(f"{API_BY_KEY[key].name} answers with no error of its own")
    response.error_code = int(error)  # type: ignore[attr-defined]  # one of its fields, see above
    if "error_message" in names:
        response.error_message = message  # type: ignore[attr-defined]
    return response


def _create_topics(request: CreateTopicsRequest, error: int, message: str | None) -> Message:
    module = create_topics_response
    return module.CreateTopicsResponse(
        topics=[
            module.CreatableTopicResult(name=topic.name, error_code=error, error_message=message)
            for topic in request.topics
        ]
    )


def _delete_topics(request: DeleteTopicsRequest, error: int, message: str | None) -> Message:
    module = delete_topics_response
    wanted = [(topic.name, topic.topic_id) for topic in request.topics]
    wanted += [(name, bytes(16)) for name in request.topic_names]
    return module.DeleteTopicsResponse(
        responses=[
            module.DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=error, error_message=message
            )
            for name, topic_id in wanted
        ]
    )


def _create_partitions(
    request: CreatePartitionsRequest, error: int, message: str | None
) -> Message:
    module = create_partitions_response
    return module.CreatePartitionsResponse(
        results=[
            module.CreatePartitionsTopicResult(topic.name, error, message)
            for topic in request.topics
        ]
    )


def _incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, error: int, message: str | None
) -> Message:
    module = incremental_alter_configs_response
    return module.IncrementalAlterConfigsResponse(
        responses=[
            module.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )


def _alter_configs(request: AlterConfigsRequest, error: int, message: str | None) -> Message:
    module = alter_configs_response
    return module.AlterConfigsResponse(
        responses=[
            module.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )


def _describe_configs(request: DescribeConfigsRequest, error: int, message: str | None) -> Message:
    module = describe_configs_response
    return module.DescribeConfigsResponse(
        results=[
            module.DescribeConfigsResult(
                error, message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )


def _elect_leaders(request: ElectLeadersRequest, error: int, message: str | None) -> Message:
    module = elect_leaders_response
    # Without a list it is about all partitions, and the answer about none.
    return module.ElectLeadersResponse(
        replica_election_results=[
            module.ReplicaElectionResult(
                topic.topic,
                [
                    module.PartitionResult(partition, error, message)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ]
    )


def _create_acls(request: CreateAclsRequest, error: int, message: str | None) -> Message:
    module = create_acls_response
    return module.CreateAclsResponse(
        results=[module.AclCreationResult(error, message) for _ in request.creations]
    )


def _delete_acls(request: DeleteAclsRequest, error: int, message: str | None) -> Message:
    module = delete_acls_response
    return module.DeleteAclsResponse(
        filter_results=[module.DeleteAclsFilterResult(error, message) for _ in request.filters]
    )


def _alter_client_quotas(
    request: AlterClientQuotasRequest, error: int, message: str | None
) -> Message:
    module = alter_client_quotas_response
    return module.AlterClientQuotasResponse(
        entries=[
            module.EntryData(
                error,
                message,
                [module.EntityData(part.entity_type, part.entity_name) for part in entry.entity],
            )
            for entry in request.entries
        ]
    )


def _alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, error: int, message: str | None
) -> Message:
    module = alter_user_scram_credentials_response
    users = dict.fromkeys(
        [*(one.name for one in request.deletions), *(one.name for one in request.upsertions)]
    )
    return module.AlterUserScramCredentialsResponse(
        results=[module.AlterUserScramCredentialsResult(user, error, message) for user in users]
    )


_PER_ITEM: Final[dict[ApiKey, Callable[[Any, int, str | None], Message]]] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
}
