"""Resources become dataclasses, and mistakes are told with the path of the field."""

from typing import Any

import pytest

from barnabas_operator.api.cluster import ClusterSpec, Role
from barnabas_operator.api.config import cluster_config, topic_config
from barnabas_operator.api.listener import ListenerType
from barnabas_operator.api.parsing import InvalidResource, parse, rendered
from barnabas_operator.api.status import ClusterStatus, PoolStatus, ReplicationStatus
from barnabas_operator.api.topic import TopicSpec
from tests.support.resource_cases import CLUSTER, COMBINED, TOPIC

POOL: dict[str, Any] = {"name": "main", "replicas": 1, "storage": [{"size": "1Gi"}]}

NAMESPACE = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$"


def _refusal(spec: dict[str, Any]) -> str:
    with pytest.raises(InvalidResource) as caught:
        parse(ClusterSpec, spec)
    return str(caught.value)


def test_a_whole_cluster_is_read() -> None:
    spec = parse(ClusterSpec, CLUSTER["spec"])

    assert spec.controllers is not None
    assert spec.controllers.storage.storage_class == "slow"
    assert [pool.name for pool in spec.brokers] == ["main", "other"]
    assert spec.listeners[1].type is ListenerType.NODE_PORT
    assert spec.listeners[1].advertised[0].node_port == 30000
    assert spec.config == {
        "min.insync.replicas": 2,
        "node.id": None,
        "auto.create.topics.enable": False,
    }


def test_what_is_left_out_has_the_operators_default_not_an_empty_one() -> None:
    spec = parse(ClusterSpec, COMBINED["spec"])

    assert [(one.name, one.port) for one in spec.listeners] == [("plain", 9092)]
    assert spec.brokers[0].roles == (Role.BROKER, Role.CONTROLLER)
    assert spec.brokers[0].storage[0].name == "data"
    assert not spec.deletes_volumes


def test_null_is_as_if_it_were_not_there() -> None:
    assert parse(ClusterSpec, {"brokers": [POOL], "rack": None}).rack is None


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, "spec.brokers: is not set"),
        ({"brokers": []}, "spec.brokers: expected at least 1"),
        ({"brokers": {"name": "a"}}, "spec.brokers: expected a list"),
        ({"brokers": ["a"]}, "spec.brokers[0]: expected an object"),
        (
            {"brokers": [POOL | {"replicas": "3"}]},
            "spec.brokers[0].replicas: expected a whole number, got '3'",
        ),
        (
            {"brokers": [POOL | {"replicas": True}]},
            "spec.brokers[0].replicas: expected a whole number, got True",
        ),
        ({"brokers": [POOL | {"replicas": -1}]}, "spec.brokers[0].replicas: -1 is below 0"),
        ({"brokers": [POOL | {"replicas": 501}]}, "spec.brokers[0].replicas: 501 is above 500"),
        (
            {"brokers": [POOL | {"name": "Big"}]},
            "spec.brokers[0].name: 'Big' does not match ^[a-z][a-z0-9]{0,18}$",
        ),
        ({"brokers": [POOL, POOL]}, "spec.brokers: name main is there twice"),
        (
            {"brokers": [POOL | {"storage": [{"name": "a"}]}]},
            "spec.brokers[0].storage[0].size: is not set",
        ),
        (
            {"brokers": [POOL], "deletionPolicy": "Keep"},
            "spec.deletionPolicy: expected one of Retain, Delete, got 'Keep'",
        ),
        (
            {"brokers": [POOL], "config": {"a": [1]}},
            "spec.config[a]: expected a string, a number, true, false or null",
        ),
        (
            {"brokers": [POOL], "allowedNamespaces": ["No Such"]},
            f"spec.allowedNamespaces[0]: 'No Such' does not match {NAMESPACE}",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(spec: dict[str, Any], told: str) -> None:
    assert _refusal(spec) == told


def test_a_topic_is_read() -> None:
    spec = parse(TopicSpec, TOPIC["spec"])

    assert (spec.cluster_ref.name, spec.cluster_ref.namespace) == ("demo", None)
    assert (spec.topic_name, spec.partitions, spec.replicas) == ("Orders", 6, 3)
    assert not spec.keeps_topic


def test_config_is_text_as_kafka_writes_it() -> None:
    config = cluster_config(
        {"auto.create.topics.enable": False, "min.insync.replicas": 2, "log.roll.ms": None}
    )

    assert config == {
        "auto.create.topics.enable": "false",
        "min.insync.replicas": "2",
        "log.roll.ms": None,
    }
    assert topic_config({"retention.ms": 5}) == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"node.id": 3}, "spec.config[node.id]: node.id is set by the operator: "),
        ({"min.insync.replica": 2}, "spec.config[min.insync.replica]: "),
        ({"min.insync.replicas": "two"}, "spec.config[min.insync.replicas]: "),
        ({"num.partitions": 0}, "spec.config[num.partitions]: "),
    ],
)
def test_a_wrong_property_is_told_before_a_broker_would(config: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidResource) as caught:
        cluster_config(config)

    assert str(caught.value).startswith(told)


def test_a_throttle_that_exists_only_while_brokers_run_is_a_property_too() -> None:
    config = cluster_config({"leader.replication.throttled.rate": 1000})

    assert config == {"leader.replication.throttled.rate": "1000"}


def test_a_property_of_a_broker_is_none_of_a_topic() -> None:
    with pytest.raises(InvalidResource, match=r"spec\.config\[num\.partitions\]"):
        topic_config({"num.partitions": 3})


def test_a_status_is_written_as_it_is_read() -> None:
    pool = PoolStatus(name="main", role="broker", first_node_id=0, replicas=3, ready=0)
    status = ClusterStatus(cluster_id="a", pools=(pool,), replication=ReplicationStatus())

    written = rendered(status)

    assert written["pools"] == [
        {
            "name": "main",
            "role": "broker",
            "firstNodeId": 0,
            "replicas": 3,
            "ready": 0,
            "updated": 0,
        }
    ]
    assert "rollout" not in written
    assert parse(ClusterStatus, written, "status") == status
