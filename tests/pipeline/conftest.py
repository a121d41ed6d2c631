"""One Spark session for all, and the two clusters that every test here runs against."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas import EmbeddedCluster
from barnabas_pipeline.session import spark_session
from tests.support.external import JavaRuntime, obtain
from tests.support.kafka_node import KafkaNode
from tests.support.pipeline_lab import Lab


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    config = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    session = obtain(request, lambda: spark_session("tests", "local[2]", config))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def barnabas_bootstrap() -> Iterator[str]:
    with EmbeddedCluster(config={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture(scope="session")
def kafka_bootstrap(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    extra = "auto.create.topics.enable=false\n"
    node = KafkaNode(java, tmp_path_factory.mktemp("kafka"), extra)
    with node.running():
        yield node.bootstrap


@pytest.fixture(params=["barnabas", "kafka"])
def lab(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Iterator[Lab]:
    """A cluster's address, topics of the test's own, a directory for documents and tables."""
    bootstrap = request.getfixturevalue(f"{request.param}_bootstrap")
    with Lab(bootstrap, tmp_path, spark).open() as opened:
        yield opened
