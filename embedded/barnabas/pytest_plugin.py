"""Fixtures for tests of applications that use Kafka: a cluster in the test process, any client.

    def test_orders_are_published(kafka_cluster, kafka_topic):
        publish(kafka_cluster.bootstrap_servers, kafka_topic, ...)

`kafka_cluster` is started with the first test that asks for it and lives as long as the session;
what it is like is said in pytest's configuration:

    [tool.pytest.ini_options]
    barnabas_brokers = "3"
    barnabas_config = ["min.insync.replicas=2", "auto.create.topics.enable=false"]

`kafka_topic` is the name of a topic that is made for the test and deleted after it; the marker
`kafka_topic(partitions=..., replication_factor=..., config=...)` says how it is made.
`kafka_faults` are the cluster's faults, none of which outlives the test.

Nothing of the broker is loaded by a session in which no test asks for it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypedDict

import pytest

if TYPE_CHECKING:
    from barnabas.cluster import EmbeddedCluster
    from barnabas.faults import Faults

_BROKERS: Final = "barnabas_brokers"
_CONFIG: Final = "barnabas_config"
_NAME_LENGTH_MAX: Final = 200
_MARKER: Final = (
    "kafka_topic(partitions, replication_factor, config): how the topic of the fixture"
    " `kafka_topic` is made"
)


class KafkaClusterOptions(TypedDict, total=False):
    """Arguments of `EmbeddedCluster`."""

    brokers: int
    config: Mapping[str, str]
    data: str | None
    host: str
    port: int


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_BROKERS, "brokers of the fixture `kafka_cluster`", default="1")
    parser.addini(_CONFIG, "their properties, a line of name=value each", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def kafka_cluster_options(pytestconfig: pytest.Config) -> KafkaClusterOptions:
    """From pytest's configuration. A conftest.py that wants something else overrides this."""
    return KafkaClusterOptions(
        brokers=_broker_count(pytestconfig.getini(_BROKERS)),
        config=dict(map(_property, pytestconfig.getini(_CONFIG))),
    )


@pytest.fixture(scope="session")
def kafka_cluster(kafka_cluster_options: KafkaClusterOptions) -> "Iterator[EmbeddedCluster]":
    """A running cluster; its address is `kafka_cluster.bootstrap_servers`."""
    from barnabas.cluster import EmbeddedCluster  # noqa: PLC0415 - see above

    with EmbeddedCluster(**kafka_cluster_options) as cluster:
        yield cluster


@pytest.fixture
def kafka_topic(kafka_cluster: "EmbeddedCluster", request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic that no other test uses."""
    marker = request.node.get_closest_marker("kafka_topic")
    name = _topic_name(request.node.name)
    kafka_cluster.create_topic(name, **(marker.kwargs if marker else {}))
    yield name
    if kafka_cluster.has_topic(name):  # the test may have deleted it itself
        kafka_cluster.delete_topic(name)


@pytest.fixture
def kafka_faults(kafka_cluster: "EmbeddedCluster") -> "Iterator[Faults]":
    """The cluster's faults: none at the start, and none left at the end."""
    kafka_cluster.faults.clear()
    yield kafka_cluster.faults
    kafka_cluster.faults.clear()


def _broker_count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"{_BROKERS}: {text!r} is not a number") from None


def _property(line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals:
        raise pytest.UsageError(f"{_CONFIG}: {line!r} is not name=value")
    return name.strip(), value.strip()


def _topic_name(test: str) -> str:
    """What a topic may be called, and a person recognises."""
    legal = re.sub(r"[^a-zA-Z0-9._-]+", "-", test)[:_NAME_LENGTH_MAX].strip("-")
    return f"{legal}-{os.urandom(4).hex()}"  # noqa: TID251 - of the tests', not of the cluster's
