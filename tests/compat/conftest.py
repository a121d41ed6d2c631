"""What is made once: a running Kafka node, for the tests that only talk to it; Java programs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.external import JavaRuntime, obtain
from tests.support.java_source import compile_java
from tests.support.kafka_node import KafkaNode
from tools.fetch import fetch_java_compiler


@pytest.fixture(scope="session")
def kafka(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    node = KafkaNode(java, tmp_path_factory.mktemp("kafka"))
    with node.running():
        yield node


@pytest.fixture(scope="session")
def java_classes(
    request: pytest.FixtureRequest, java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Directory of the tests' own Java programs, compiled."""
    compiler = obtain(request, fetch_java_compiler)
    target = tmp_path_factory.mktemp("java-classes")
    compile_java(java, compiler, target)
    return target
