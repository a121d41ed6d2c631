"""Admin requests that a broker answers itself: a real Kafka and ours, asked the same.

Hosts, ports, ids, sizes and times differ, and are left out; codes and messages must be the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from barnabas import EmbeddedCluster
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.schema import Struct
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode
from tests.support.plain_message import from_plain
from tests.support.raw_client import RawClient

TOPIC, COMPACTED = "plain", "compacted"
TIME_MS = 1_700_000_000_000
LEFT_OUT = frozenset(
    (
        "cluster_id",
        "documentation",
        "host",
        "port",
        "throttle_time_ms",
        "topic_id",
        "unknown_tags",
    )
)
Plain = dict[str, Any]


@pytest.fixture(scope="module")
def clients(
    java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RawClient, RawClient]]:
    """Of Kafka and of ours, with the same topics and records."""
    kafka = KafkaNode(java, tmp_path_factory.mktemp("kafka"))
    compacted = {"cleanup.policy": "compact"}
    with kafka.running(), EmbeddedCluster() as cluster:
        kafka.create_topic(TOPIC, {"retention.ms": "-1"})
        kafka.create_topic(COMPACTED, compacted)
        cluster.create_topic(
            TOPIC, partitions=1, replication_factor=1, config={"retention.ms": "-1"}
        )
        cluster.create_topic(COMPACTED, partitions=1, replication_factor=1, config=compacted)
        (at,) = cluster.broker.advertised
        with RawClient(("127.0.0.1", kafka.port)) as theirs, RawClient((at.host, at.port)) as ours:
            for client in (theirs, ours):
                fill(client)
            yield theirs, ours


def fill(client: RawClient) -> None:
    for sequence in range(5):
        batch = build_batch(
            [(b"k", b"v")],
            timestamp_ms=TIME_MS + sequence,
            producer_id=4711,
            producer_epoch=3,
            base_sequence=sequence,
        )
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, batch)])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = client.ask(request, 12, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


def plain(struct: Struct) -> Plain:
    values: Plain = {}
    for field in type(struct).FIELDS:
        value = getattr(struct, field.name)
        if field.name in LEFT_OUT:
            continue
        if isinstance(value, Struct):
            value = plain(value)
        elif isinstance(value, list):
            value = [plain(one) if isinstance(one, Struct) else one for one in value]
        values[field.name] = value
    return values


def ask(client: RawClient, key: ApiKey, version: int, values: Mapping[str, Any]) -> Plain:
    info = API_BY_KEY[key]
    return plain(client.ask(from_plain(info.request, values, version), version, info.response))


def partitions(name: str, **fields: int) -> list[Plain]:
    return [{"name": name, "partitions": [{"partition_index": 0, **fields}]}]


def listed(timestamp: int, epoch: int = -1) -> Plain:
    asked = {"partition_index": 0, "current_leader_epoch": epoch, "timestamp": timestamp}
    return {"replica_id": -1, "topics": [{"name": TOPIC, "partitions": [asked]}]}


def epoch_end(epoch: int, current: int = -1, topic: str = TOPIC) -> Plain:
    asked = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
    return {"replica_id": -1, "topics": [{"topic": topic, "partitions": [asked]}]}


def resource(kind: int, name: str, keys: list[str] | None = None) -> Plain:
    asked = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return {"resources": [asked], "include_synonyms": True}


def altered(kind: int, name: str, *configs: tuple[str, int, str | None]) -> Plain:
    changes = [
        {"name": key, "config_operation": operation, "value": value}
        for key, operation, value in configs
    ]
    asked = {"resource_type": kind, "resource_name": name, "configs": changes}
    return {"resources": [asked], "validate_only": True}


REQUESTS: list[tuple[ApiKey, int, Plain]] = [
    *((ApiKey.LIST_OFFSETS, 11, listed(timestamp)) for timestamp in range(-7, 1)),
    (ApiKey.LIST_OFFSETS, 6, listed(-3)),
    (ApiKey.LIST_OFFSETS, 11, listed(TIME_MS + 2)),
    (ApiKey.LIST_OFFSETS, 11, listed(TIME_MS + 99)),
    (ApiKey.LIST_OFFSETS, 11, listed(-1, epoch=5)),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epoch_end(0)),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epoch_end(5)),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epoch_end(-1)),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epoch_end(0, current=5)),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, epoch_end(0, topic="unknown")),
    (ApiKey.DELETE_RECORDS, 2, {"topics": partitions(TOPIC, offset=99), "timeout_ms": 5_000}),
    (ApiKey.DELETE_RECORDS, 2, {"topics": partitions(TOPIC, offset=-2), "timeout_ms": 5_000}),
    (ApiKey.DELETE_RECORDS, 2, {"topics": partitions(COMPACTED, offset=0), "timeout_ms": 5_000}),
    (ApiKey.DELETE_RECORDS, 2, {"topics": partitions("unknown", offset=0), "timeout_ms": 5_000}),
    (ApiKey.DELETE_RECORDS, 2, {"topics": partitions(TOPIC, offset=0), "timeout_ms": 5_000}),
    (ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": TOPIC, "partition_indexes": [0, 7]}]}),
    (ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "a b", "partition_indexes": [0]}]}),
    (ApiKey.DESCRIBE_CLUSTER, 2, {"include_cluster_authorized_operations": True}),
    (ApiKey.DESCRIBE_CLUSTER, 2, {"endpoint_type": 2}),
    (ApiKey.DESCRIBE_CLUSTER, 2, {"endpoint_type": 9}),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": TOPIC}, {"name": "unknown"}]}),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": "a b"}]}),
    (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        {"topics": [{"name": COMPACTED}, {"name": TOPIC}], "response_partition_limit": 1},
    ),
    (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        {"topics": [{"name": TOPIC}], "cursor": {"topic_name": "a", "partition_index": 0}},
    ),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(2, TOPIC, ["retention.ms", "cleanup.policy"])),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(2, "unknown")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(2, "a b")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(4, "1", ["num.io.threads", "node.id"])),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(4, "7")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(4, "x")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(8, "")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(8, "7")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(8, "x")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(16, "")),
    (ApiKey.DESCRIBE_CONFIGS, 4, resource(32, "")),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("no.such.logger", 0, "INFO"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("root", 0, "LOUD"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("root", 0, "INFO"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("root", 1, None))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("root", 2, "INFO"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "1", ("root", 0, None))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(8, "x", ("root", 0, "INFO"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "7", ("num.io.threads", 0, "3"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "x", ("num.io.threads", 0, "3"))),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altered(77, "x")),
    (
        ApiKey.ALTER_CONFIGS,
        2,
        {"resources": [{"resource_type": 8, "resource_name": "1"}], "validate_only": True},
    ),
    (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        2,
        {"dirs": [{"path": "/nowhere", "topics": [{"name": TOPIC, "partitions": [0]}]}]},
    ),
    (ApiKey.METADATA, 12, {"topics": [{"name": TOPIC}, {"name": "a b"}]}),
    (ApiKey.METADATA, 0, {"topics": [{"name": TOPIC}]}),
]


def name_of(value: object) -> str | None:
    return value.name if isinstance(value, ApiKey) else None


@pytest.mark.parametrize(("key", "version", "values"), REQUESTS, ids=name_of)
def test_ours_answers_as_kafka_does(
    clients: tuple[RawClient, RawClient], key: ApiKey, version: int, values: Plain
) -> None:
    theirs, ours = (ask(client, key, version, values) for client in clients)

    assert ours == theirs
