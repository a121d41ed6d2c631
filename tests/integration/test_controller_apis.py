"""Every admin api of Kafka's table that a controller answers, on both ways in.

The table (`API_ROWS`) says which apis the CONTROLLER listener has and which a broker forwards. What
is left out here is left out on purpose: what nodes say to each other goes over links, SASL and
delegation tokens come with security, and UnregisterController has no record to write.
"""

import asyncio
from collections.abc import Iterator

import pytest

from barnabas import EmbeddedCluster
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.ports.link import Call, CallRefused, Identity, Origin, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.api import API_BY_KEY, ApiInfo, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from tests.support.controller_process import CLUSTER_ID, Quorum, controllers
from tests.support.fake_broker import FakeBrokers
from tests.support.raw_client import RawClient

BETWEEN_NODES = {
    ApiKey.FETCH, ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH_SNAPSHOT, ApiKey.UPDATE_RAFT_VOTER, ApiKey.ENVELOPE, ApiKey.ALTER_PARTITION,
    ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLER_REGISTRATION, ApiKey.ASSIGN_REPLICAS_TO_DIRS,
}  # fmt: skip
LATER = {
    ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN, ApiKey.UNREGISTER_CONTROLLER,
}  # fmt: skip

ON_LISTENER = sorted(
    info.key
    for info in API_BY_KEY.values()
    if "controller" in info.listeners and info.key not in BETWEEN_NODES | LATER
)
FORWARDABLE = sorted(
    info.key
    for info in API_BY_KEY.values()
    if info.is_forwardable and info.key not in BETWEEN_NODES | LATER
)
READ_AT_THE_CONTROLLER = [
    ApiKey.DESCRIBE_ACLS, ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.LIST_CONFIG_RESOURCES,
]  # fmt: skip
"""Kafka's brokers answer these from their own image; ours may ask instead."""


REGISTERED = 101
"""The first of the fake brokers."""


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quorum]:
    with controllers(tmp_path_factory.mktemp("apis"), 1) as found:
        found.wait_active()
        with FakeBrokers(found.links, count=1):
            yield found


def test_a_broker_announces_all_that_it_can_forward() -> None:
    with EmbeddedCluster() as cluster:
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            answer = client.ask(ApiVersionsRequest("test", "1"), 4, ApiVersionsResponse)

    announced = {one.api_key for one in answer.api_keys}
    assert announced >= {*FORWARDABLE, *READ_AT_THE_CONTROLLER}


def test_the_listener_announces_what_it_answers(quorum: Quorum) -> None:
    with RawClient(quorum[1].address) as client:
        answer = client.ask(ApiVersionsRequest("test", "1"), 4, ApiVersionsResponse)

    assert answer.error_code == ErrorCode.NONE
    assert sorted(one.api_key for one in answer.api_keys) == ON_LISTENER
    for one in answer.api_keys:
        info = API_BY_KEY[one.api_key]
        assert (one.min_version, one.max_version) == (info.advertised_min, info.advertised_max)


def versions(info: ApiInfo) -> range:
    return range(info.min_version, info.max_version + 1)


@pytest.mark.parametrize("key", ON_LISTENER, ids=lambda key: key.name)
def test_the_listener_answers_every_version(quorum: Quorum, key: ApiKey) -> None:
    info = API_BY_KEY[key]
    with RawClient(quorum[1].address) as client:
        for version in versions(info):
            # An empty request changes nothing; an answer that can be read is what counts.
            answer = client.ask(info.request(), version, info.response)
            assert getattr(answer, "error_code", 0) != ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("key", [*FORWARDABLE, *READ_AT_THE_CONTROLLER], ids=lambda key: key.name)
def test_a_forwarded_request_is_answered_in_every_version(quorum: Quorum, key: ApiKey) -> None:
    info = API_BY_KEY[key]
    calls = [
        Call(key, version, encode(info.request(), version), Origin("User:alice", "host", "c"))
        for version in versions(info)
    ]

    for call, body in zip(calls, forward(quorum, calls), strict=True):
        answer = decode(info.response, call.api_version, body)
        assert getattr(answer, "error_code", 0) != ErrorCode.UNKNOWN_SERVER_ERROR


def test_only_registered_brokers_forward(quorum: Quorum) -> None:
    info = API_BY_KEY[ApiKey.DELETE_TOPICS]
    call = Call(info.key, 6, encode(info.request(), 6), Origin("User:admin", "host", "c"))

    for stranger in (("broker", 7), ("coordinator", REGISTERED), ("controller", 1)):
        with pytest.raises(CallRefused, match="is not registered"):
            forward(quorum, [call], *stranger)


def test_what_nodes_say_for_themselves_is_not_forwarded(quorum: Quorum) -> None:
    info = API_BY_KEY[ApiKey.BROKER_HEARTBEAT]
    call = Call(info.key, 1, encode(info.request(), 1), Origin("User:mallory", "host", "c"))

    with pytest.raises(CallRefused):
        forward(quorum, [call])


def forward(
    quorum: Quorum, calls: list[Call], role: str = "broker", node_id: int = REGISTERED
) -> list[bytes]:
    async def ask() -> list[bytes]:
        identity = Identity(CLUSTER_ID, node_id, role, b"incarnation-0101")
        links = GrpcLinks(identity, SystemClock(), EventLog(level="error"))
        client = ControllerClient(links, quorum.links, Purpose.FORWARD, SystemClock())
        try:
            return [bytes(await client.call(call, 10_000)) for call in calls]
        finally:
            await client.close()

    return asyncio.run(ask())
