"""Every api that a controller may answer has a place for an error."""

import pytest

from barnabas_core.server.error_response import NoErrorResponse, error_response
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from barnabas_core.wire.messages.delete_topics_response import DeleteTopicsResponse
from barnabas_core.wire.messages.update_features_response import UpdateFeaturesResponse

_CONTROLLER_APIS = [info.key for info in API_BY_KEY.values() if "controller" in info.listeners]


@pytest.mark.parametrize("key", _CONTROLLER_APIS, ids=lambda key: key.name)
def test_every_api_of_a_controller_can_be_answered_with_an_error(key: ApiKey) -> None:
    info = API_BY_KEY[key]

    response = error_response(key, info.request(), ErrorCode.NOT_CONTROLLER, "not this one")

    for version in range(info.min_version, info.max_version + 1):
        assert decode(info.response, version, encode(response, version)) is not None


def test_an_answer_per_topic_names_every_topic() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")])

    response = error_response(ApiKey.CREATE_TOPICS, request, ErrorCode.NOT_CONTROLLER, "no")

    assert isinstance(response, CreateTopicsResponse)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("a", 41), ("b", 41)]


def test_topics_to_delete_are_answered_by_the_name_or_id_they_were_given() -> None:
    by_id = DeleteTopicState(name=None, topic_id=b"i" * 16)
    request = DeleteTopicsRequest(topics=[by_id], topic_names=["old"])

    response = error_response(ApiKey.DELETE_TOPICS, request, ErrorCode.REQUEST_TIMED_OUT)

    assert isinstance(response, DeleteTopicsResponse)
    assert [(one.name, one.topic_id) for one in response.responses] == [
        (None, b"i" * 16),
        ("old", bytes(16)),
    ]


def test_one_error_on_top_is_enough_where_there_is_room_for_it() -> None:
    request = API_BY_KEY[ApiKey.UPDATE_FEATURES].request()

    response = error_response(ApiKey.UPDATE_FEATURES, request, ErrorCode.NOT_CONTROLLER, "why")

    assert response == UpdateFeaturesResponse(error_code=41, error_message="why")


def test_where_there_is_no_room_the_caller_is_told() -> None:
    with pytest.raises(NoErrorResponse):
        error_response(
            ApiKey.PRODUCE, API_BY_KEY[ApiKey.PRODUCE].request(), ErrorCode.NOT_CONTROLLER
        )
