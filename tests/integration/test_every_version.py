"""Old clients and new ones: every version of every API that is served gets the same answer.

A field that a version does not have must not be set for it, or the answer cannot be encoded; the
clients of the other tests speak a few versions only.
"""

from collections.abc import Iterator

import pytest

from barnabas_broker.shards.group_router import MANY_GROUPS, ONE_GROUP
from barnabas_core.records.builder import build_batch
from barnabas_core.records.record import iter_records
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.schema import Struct
from tests.support.admin_requests import ADMIN_REQUESTS, TOPIC, admin_request
from tests.support.barnabas_process import running_barnabas
from tests.support.raw_client import RawClient

TIME_MS = 1_700_000_000_000
# Their tests are below, or of those who serve them.
TESTED_BY_THEMSELVES = frozenset(
    (
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.API_VERSIONS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        *(ONE_GROUP + tuple(MANY_GROUPS)),
        ApiKey.LIST_GROUPS,
        ApiKey.FIND_COORDINATOR,
    )
)
FETCH_BY_ID = PRODUCE_BY_ID = 13
METADATA_BY_ID = 10


def served(key: ApiKey) -> range:
    info = API_BY_KEY[key]
    return range(info.min_version, info.max_version + 1)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with running_barnabas(tmp_path_factory.mktemp("cluster"), "--ephemeral") as (_, bootstrap):
        host, _, port = bootstrap.partition(":")
        yield host, int(port)


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[RawClient]:
    with RawClient(address) as connected:
        yield connected


@pytest.fixture(scope="module")
def topic_id(address: tuple[str, int]) -> bytes:
    """Of a topic with three records."""
    with RawClient(address) as client:
        version = served(ApiKey.METADATA)[-1]
        request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        topic_id = client.ask(request, version, MetadataResponse).topics[0].topic_id
        produced = client.ask(
            produce_request(TOPIC, topic_id, PRODUCE_BY_ID), PRODUCE_BY_ID, ProduceResponse
        )
        assert produced.responses[0].partition_responses[0].error_code == 0
        return topic_id


def produce_request(topic: str, topic_id: bytes, version: int) -> ProduceRequest:
    batch = build_batch([(b"k", b"v%d" % n) for n in range(3)], timestamp_ms=TIME_MS)
    data = TopicProduceData(partition_data=[PartitionProduceData(0, batch)])
    if version >= PRODUCE_BY_ID:
        data.topic_id = topic_id
    else:
        data.name = topic
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])


@pytest.mark.parametrize("version", served(ApiKey.API_VERSIONS))
def test_api_versions(client: RawClient, version: int) -> None:
    request = ApiVersionsRequest()
    if version >= 3:
        request = ApiVersionsRequest("tests", "1.0")

    answer = client.ask(request, version, ApiVersionsResponse)

    assert answer.error_code == 0
    announced = {it.api_key: (it.min_version, it.max_version) for it in answer.api_keys}
    for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA):
        info = API_BY_KEY[key]
        assert announced[key] == (info.advertised_min, info.advertised_max)


@pytest.mark.parametrize("version", served(ApiKey.METADATA))
def test_metadata(client: RawClient, topic_id: bytes, version: int) -> None:
    request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])

    answer = client.ask(request, version, MetadataResponse)

    [topic] = answer.topics
    assert (topic.error_code, topic.name) == (0, TOPIC)
    assert [partition.error_code for partition in topic.partitions] == [0]
    assert topic.partitions[0].leader_id == answer.brokers[0].node_id
    assert topic.partitions[0].isr_nodes == [answer.brokers[0].node_id]
    if version >= METADATA_BY_ID:
        assert topic.topic_id == topic_id


@pytest.mark.parametrize("version", served(ApiKey.METADATA))
def test_metadata_of_all_topics(client: RawClient, topic_id: bytes, version: int) -> None:
    everything = MetadataRequest([] if version == 0 else None)

    answer = client.ask(everything, version, MetadataResponse)

    assert TOPIC in {topic.name for topic in answer.topics}


@pytest.mark.parametrize("version", served(ApiKey.METADATA))
def test_metadata_creates_a_topic(client: RawClient, version: int) -> None:
    name = f"created-at-{version}"
    request = MetadataRequest([MetadataRequestTopic(name=name)])

    client.ask(request, version, MetadataResponse)
    answer = client.ask(request, version, MetadataResponse)

    assert [(topic.error_code, topic.name) for topic in answer.topics] == [(0, name)]


@pytest.mark.parametrize("version", served(ApiKey.PRODUCE))
def test_produce(client: RawClient, version: int) -> None:
    name = f"produced-at-{version}"
    request = MetadataRequest([MetadataRequestTopic(name=name)])
    topic_id = client.ask(request, METADATA_BY_ID + 2, MetadataResponse).topics[0].topic_id

    for base_offset in (0, 3):
        answer = client.ask(produce_request(name, topic_id, version), version, ProduceResponse)

        [topic] = answer.responses
        [partition] = topic.partition_responses
        assert (partition.error_code, partition.base_offset) == (0, base_offset)


@pytest.mark.parametrize("version", served(ApiKey.PRODUCE))
def test_a_refused_produce(client: RawClient, topic_id: bytes, version: int) -> None:
    request = produce_request("no such topic", bytes(15) + b"\x01", version)

    answer = client.ask(request, version, ProduceResponse)

    assert answer.responses[0].partition_responses[0].error_code != 0


@pytest.mark.parametrize("version", served(ApiKey.FETCH))
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_fetch(client: RawClient, topic_id: bytes, version: int, isolation_level: int) -> None:
    topic = FetchTopic(partitions=[FetchPartition(0, fetch_offset=1, partition_max_bytes=1 << 20)])
    if version >= FETCH_BY_ID:
        topic.topic_id = topic_id
    else:
        topic.topic = TOPIC
    request = FetchRequest(
        max_wait_ms=1_000, min_bytes=1, isolation_level=isolation_level, topics=[topic]
    )

    answer = client.ask(request, version, FetchResponse)

    [partition] = answer.responses[0].partitions
    assert (partition.error_code, partition.high_watermark) == (0, 3)
    assert isinstance(partition.records, (bytes, memoryview))
    values = [bytes(record.value or b"") for record in iter_records(partition.records)]
    assert values == [b"v0", b"v1", b"v2"]


@pytest.mark.parametrize("version", served(ApiKey.FETCH))
def test_a_fetch_out_of_range(client: RawClient, topic_id: bytes, version: int) -> None:
    topic = FetchTopic(partitions=[FetchPartition(0, fetch_offset=99, partition_max_bytes=1024)])
    if version >= FETCH_BY_ID:
        topic.topic_id = topic_id
    else:
        topic.topic = TOPIC

    answer = client.ask(FetchRequest(topics=[topic]), version, FetchResponse)

    assert answer.responses[0].partitions[0].error_code == 1


@pytest.mark.parametrize("version", served(ApiKey.LIST_OFFSETS))
@pytest.mark.parametrize(("timestamp", "offset"), [(-1, 3), (-2, 0), (TIME_MS, 0), (2**62, -1)])
def test_list_offsets(
    client: RawClient, topic_id: bytes, version: int, timestamp: int, offset: int
) -> None:
    partition = ListOffsetsPartition(0, timestamp=timestamp)
    request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(TOPIC, [partition])])

    answer = client.ask(request, version, ListOffsetsResponse)

    [found] = answer.topics[0].partitions
    assert (found.error_code, found.offset) == (0, offset)


@pytest.mark.parametrize("version", served(ApiKey.INIT_PRODUCER_ID))
def test_init_producer_id(client: RawClient, version: int) -> None:
    request = InitProducerIdRequest(None, 60_000)

    first = client.ask(request, version, InitProducerIdResponse)
    second = client.ask(request, version, InitProducerIdResponse)

    assert (first.error_code, first.producer_epoch) == (0, 0)
    assert second.producer_id != first.producer_id


def test_every_api_that_is_announced_is_asked_here(client: RawClient) -> None:
    answer = client.ask(ApiVersionsRequest("tests", "1.0"), 4, ApiVersionsResponse)

    announced = {ApiKey(one.api_key) for one in answer.api_keys}
    assert announced <= TESTED_BY_THEMSELVES | ADMIN_REQUESTS.keys()
    assert announced >= ADMIN_REQUESTS.keys()


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in ADMIN_REQUESTS for version in served(key)]
)
def test_admin_apis(client: RawClient, topic_id: bytes, key: ApiKey, version: int) -> None:
    answer = client.ask(admin_request(key, version), version, API_BY_KEY[key].response)

    # It came in the right version and order, or it would not have been decoded.
    assert errors_in(answer) <= EXPECTED.get(key, NO_ERROR), errors_in(answer)


NO_ERROR = frozenset((ErrorCode.NONE,))
EXPECTED = {
    ApiKey.DELETE_TOPICS: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    ApiKey.CREATE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.DESCRIBE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.DELETE_ACLS: {ErrorCode.SECURITY_DISABLED},
    ApiKey.ALTER_REPLICA_LOG_DIRS: {ErrorCode.LOG_DIR_NOT_FOUND},
    ApiKey.ELECT_LEADERS: {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {
        ErrorCode.NONE,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    },
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {ErrorCode.NONE, ErrorCode.RESOURCE_NOT_FOUND},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {ErrorCode.RESOURCE_NOT_FOUND},
    ApiKey.UPDATE_FEATURES: {ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION},
    ApiKey.UNREGISTER_BROKER: {ErrorCode.BROKER_ID_NOT_REGISTERED},
    ApiKey.ADD_RAFT_VOTER: {ErrorCode.DUPLICATE_VOTER, ErrorCode.UNSUPPORTED_VERSION},
    ApiKey.REMOVE_RAFT_VOTER: {ErrorCode.VOTER_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION},
}


def errors_in(struct: Struct) -> frozenset[ErrorCode]:
    """All that the answer and its parts say."""
    found = set()
    for field in type(struct).FIELDS:
        value = getattr(struct, field.name)
        if field.name == "error_code":
            found.add(ErrorCode(value))
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Struct):
                found |= errors_in(part)
    return frozenset(found)
