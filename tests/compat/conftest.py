"""One running Kafka node for the tests that only talk to it."""

from collections.abc import Iterator

import pytest

from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode


@pytest.fixture(scope="session")
def kafka(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    node = KafkaNode(java, tmp_path_factory.mktemp("kafka"))
    with node.running():
        yield node
