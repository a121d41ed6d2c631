"""From request frames to answers."""

import asyncio
import io
import struct
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.server.answer import Part
from barnabas_core.server.api_versions import ApiVersionsHandler, FeatureView, NodeIdentity
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import (
    Dispatcher,
    Encoded,
    Handler,
    Peer,
    RequestContext,
    RequestRefused,
)
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from barnabas_core.wire.messages.produce_request import ProduceRequest
from barnabas_core.wire.schema import Message

PEER = Peer("192.0.2.1", 4711, "PLAINTEXT")
IDENTITY = NodeIdentity("the-cluster", 1)

Handle = Callable[[Any, RequestContext], Any]


def framed(message: Message, version: int, correlation_id: int = 7) -> bytearray:
    parts = encode_request(message, version, correlation_id, "me")
    return bytearray(b"".join(cast("list[bytes]", parts))[4:])


def answered(dispatcher: Dispatcher, frame: bytearray) -> list[list[Part] | None]:
    answers: list[list[Part] | None] = []
    dispatcher.dispatch(frame, PEER, answers.append)
    return answers


def serving(handle: Handle, log: EventLog | None = None) -> Dispatcher:
    return Dispatcher([Handler(ApiKey.INIT_PRODUCER_ID, handle)], log or EventLog())


def body(parts: list[Part] | None) -> bytes:
    """A whole response frame without its length, which must be right."""
    assert parts is not None
    data = b"".join(cast("list[bytes]", parts))
    assert struct.unpack_from(">i", data)[0] == len(data) - 4
    return data[4:]


REQUEST = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)


@pytest.mark.parametrize("version", range(6))
def test_bytes_can_be_passed_on_as_they_came(version: int) -> None:
    passed_on: list[bytes] = []

    def handle(_: InitProducerIdRequest, context: RequestContext) -> Encoded:
        passed_on.append(context.body)
        return Encoded(encode(InitProducerIdResponse(producer_id=17), version))

    frame = framed(REQUEST, version) + b"what a client leaves behind its request"
    (parts,) = answered(serving(handle), frame)

    assert passed_on == [encode(REQUEST, version)]
    header, response = decode_response(InitProducerIdResponse, version, body(parts))
    assert (header.correlation_id, response.producer_id) == (7, 17)


@pytest.mark.parametrize("version", range(6))
def test_a_handler_gets_the_request_and_its_answer_carries_the_correlation_id(
    version: int,
) -> None:
    seen: list[tuple[InitProducerIdRequest, RequestContext]] = []

    def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
        seen.append((request, context))
        return InitProducerIdResponse(producer_id=17)

    (parts,) = answered(serving(handle), framed(REQUEST, version, correlation_id=-5))

    header, response = decode_response(InitProducerIdResponse, version, body(parts))
    assert header.correlation_id == -5
    assert response.producer_id == 17
    request, context = seen[0]
    assert request.transaction_timeout_ms == 1000
    assert (context.api_version, context.client_id, context.peer) == (version, "me", PEER)


def test_a_handler_without_an_answer_sends_nothing() -> None:
    assert answered(serving(lambda request, context: None), framed(REQUEST, 2)) == [[]]


def test_a_deferred_answer_goes_out_when_it_is_resolved() -> None:
    later: Deferred[InitProducerIdResponse] = Deferred()
    answers: list[list[Part] | None] = []

    pending = serving(lambda request, context: later).dispatch(
        framed(REQUEST, 2), PEER, answers.append
    )
    assert pending is later
    assert answers == []
    later.resolve(InitProducerIdResponse(producer_id=3))

    assert decode_response(InitProducerIdResponse, 2, body(answers[0]))[1].producer_id == 3


def test_a_coroutine_is_run_as_a_task() -> None:
    async def handle(request: Message, context: RequestContext) -> InitProducerIdResponse:
        await asyncio.sleep(0)
        return InitProducerIdResponse(producer_id=4)

    async def scenario() -> list[list[Part] | None]:
        answers = answered(serving(handle), framed(REQUEST, 2))
        assert answers == []
        for _ in range(3):
            await asyncio.sleep(0)
        return answers

    (parts,) = asyncio.run(scenario())

    assert decode_response(InitProducerIdResponse, 2, body(parts))[1].producer_id == 4


def test_a_task_that_fails_is_logged_and_answers_with_a_defect() -> None:
    lines = io.StringIO()

    async def handle(request: Message, context: RequestContext) -> InitProducerIdResponse:
        raise ValueError("unlucky")

    async def scenario() -> list[list[Part] | None]:
        answers = answered(serving(handle, EventLog(stream=lines)), framed(REQUEST, 2))
        for _ in range(3):
            await asyncio.sleep(0)
        return answers

    assert asyncio.run(scenario()) == [None]
    assert "InitProducerId v2" in lines.getvalue()
    assert "unlucky" in lines.getvalue()


def test_an_answer_that_cannot_be_encoded_does_not_reach_whoever_resolves_it() -> None:
    lines = io.StringIO()
    later: Deferred[InitProducerIdResponse] = Deferred()
    answers: list[list[Part] | None] = []
    dispatcher = serving(lambda request, context: later, EventLog(stream=lines))
    dispatcher.dispatch(framed(REQUEST, 2), PEER, answers.append)

    later.resolve(InitProducerIdResponse(producer_id=2**70))

    assert answers == [None]
    assert "could not be sent" in lines.getvalue()


def test_closing_gives_up_the_tasks_under_way() -> None:
    ended: list[str] = []

    async def handle(request: Message, context: RequestContext) -> InitProducerIdResponse:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return InitProducerIdResponse()

    async def scenario() -> None:
        dispatcher = serving(handle)
        answered(dispatcher, framed(REQUEST, 2))
        await asyncio.sleep(0)
        await dispatcher.close()

    asyncio.run(scenario())

    assert ended == ["cancelled"]


def no_handler(request: Message, context: RequestContext) -> Message:
    raise AssertionError("a refused request must not reach a handler")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (bytearray(), "no header"),
        (bytearray(9), "no header"),
        (framed(ProduceRequest(), 9), "api key 0"),
        (bytearray(struct.pack(">hhih", 999, 0, 1, -1)), "api key 999"),
        (bytearray(struct.pack(">hhih", -1, 0, 1, -1)), "not served"),
        (bytearray(struct.pack(">hhih", 22, 6, 1, -1)), "v0 to v5"),
        (bytearray(struct.pack(">hhih", 22, -1, 1, -1)), "v0 to v5"),
        (framed(REQUEST, 2)[:-1], "malformed InitProducerId v2"),
        (bytearray(struct.pack(">hhih", 22, 0, 1, -2)), "header"),
        (bytearray(struct.pack(">hhih", 22, 2, 1, -1)), "header"),
        (bytearray(struct.pack(">hhih", 22, 0, 1, 1000)), "malformed"),
        (bytearray(struct.pack(">hhih", 22, 0, 1, 2) + b"\xff\xfe"), "header"),
    ],
)
def test_what_cannot_be_answered_is_refused(frame: bytearray, reason: str) -> None:
    with pytest.raises(RequestRefused, match=reason):
        answered(serving(no_handler), frame)


def test_tagged_fields_in_the_header_are_skipped() -> None:
    frame = framed(REQUEST, 2)
    # One tagged field: number 9, three bytes long, behind the two bytes of the client id.
    frame[12:13] = b"\x01\x09\x03abc"

    (parts,) = answered(serving(lambda request, context: InitProducerIdResponse()), frame)

    assert body(parts)


def api_versions(features: Callable[[], FeatureView] = FeatureView) -> Dispatcher:
    handlers = [Handler(ApiKey.PRODUCE, no_handler), Handler(ApiKey.INIT_PRODUCER_ID, no_handler)]
    versions = ApiVersionsHandler(handlers, IDENTITY, features)
    return Dispatcher([*handlers, versions.handler], EventLog())


def ask_versions(
    dispatcher: Dispatcher, version: int, **fields: str | int | None
) -> ApiVersionsResponse:
    request = ApiVersionsRequest(
        **{"client_software_name": "raw", "client_software_version": "1.0", **fields}  # type: ignore[arg-type]
    )
    (parts,) = answered(dispatcher, framed(request, version))
    return decode_response(ApiVersionsResponse, version, body(parts))[1]


@pytest.mark.parametrize("version", range(6))
def test_api_versions_lists_what_is_served(version: int) -> None:
    response = ask_versions(api_versions(), version)

    listed = [(api.api_key, api.min_version, api.max_version) for api in response.api_keys]
    assert response.error_code == ErrorCode.NONE
    # Produce is announced from v0 on; the unstable v6 of InitProducerId is not announced.
    assert listed == [(0, 0, 13), (18, 0, 5), (22, 0, 5)]


@pytest.mark.parametrize("version", [6, 42, -1, 32767])
def test_api_versions_of_an_unknown_version_is_answered_at_version_0(version: int) -> None:
    frame = bytearray(struct.pack(">hhih", 18, version, 99, -1) + b"anything at all")

    (parts,) = answered(api_versions(), frame)

    header, response = decode_response(ApiVersionsResponse, 0, body(parts))
    assert header.correlation_id == 99
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    info = API_BY_KEY[ApiKey.API_VERSIONS]
    listed = [(api.api_key, api.min_version, api.max_version) for api in response.api_keys]
    assert listed == [(18, info.min_version, info.max_version)]


@pytest.mark.parametrize("name", ["", "-x", "a b", "x.", "é"])
def test_a_bad_client_software_name_is_an_invalid_request(name: str) -> None:
    response = ask_versions(api_versions(), 3, client_software_name=name)

    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.api_keys == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cluster_id": "the-cluster", "node_id": 1}, ErrorCode.NONE),
        ({"cluster_id": None, "node_id": -1}, ErrorCode.NONE),
        ({"cluster_id": "another", "node_id": 1}, ErrorCode.REBOOTSTRAP_REQUIRED),
        ({"cluster_id": "the-cluster", "node_id": 2}, ErrorCode.REBOOTSTRAP_REQUIRED),
    ],
)
def test_a_client_that_reached_the_wrong_node_is_told(
    fields: dict[str, str | int | None], error: ErrorCode
) -> None:
    assert ask_versions(api_versions(), 5, **fields).error_code == error


def test_features_that_start_at_level_0_are_hidden_from_version_3() -> None:
    view = FeatureView(
        supported=(("group.version", 0, 1), ("metadata.version", 7, 30)),
        finalized=(("metadata.version", 30, 30),),
        epoch=12,
    )
    dispatcher = api_versions(lambda: view)

    old = ask_versions(dispatcher, 3)
    new = ask_versions(dispatcher, 4)

    assert [feature.name for feature in old.supported_features] == ["metadata.version"]
    assert [feature.name for feature in new.supported_features] == [
        "group.version",
        "metadata.version",
    ]
    assert new.finalized_features_epoch == 12
    assert new.finalized_features[0].max_version_level == 30


def test_an_awaitable_need_not_be_a_coroutine() -> None:
    async def scenario() -> list[list[Part] | None]:
        future: Awaitable[InitProducerIdResponse] = asyncio.get_running_loop().create_future()
        answers = answered(serving(lambda request, context: future), framed(REQUEST, 2))
        cast("asyncio.Future[InitProducerIdResponse]", future).set_result(InitProducerIdResponse())
        for _ in range(3):
            await asyncio.sleep(0)
        return answers

    (parts,) = asyncio.run(scenario())
    assert body(parts)
