"""The pytest plugin, as a project that has Barnabas installed sees it: pytest within pytest."""

import pytest

pytest_plugins = ["pytester"]

ROUND_TRIP = """
    from confluent_kafka import Consumer, Producer, TopicPartition

    def round_trip(bootstrap, topic, value):
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce(topic, value, partition=0)
        assert producer.flush(30) == 0
        settings = {"group.id": "none", "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.consume(1, 30)[0]
        consumer.close()
        return message.value(), message.offset()
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\naddopts = ["--strict-markers"]\n')


def run(pytester: pytest.Pytester, passed: int = 0, **outcomes: int) -> str:
    result = pytester.runpytest_subprocess("-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=passed, **outcomes)
    return "\n".join([*result.outlines, *result.errlines])


def test_each_test_has_a_topic_of_its_own_on_one_cluster(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ROUND_TRIP
        + """
    import pytest

    seen = []

    @pytest.mark.parametrize("number", [1, 2])
    def test_writes(kafka_cluster, kafka_topic, number):
        seen.append((kafka_cluster, kafka_topic))
        value = b"%d" % number
        assert round_trip(kafka_cluster.bootstrap_servers, kafka_topic, value) == (value, 0)

    def test_it_was_the_same_cluster_and_the_topics_are_gone(kafka_cluster):
        (one, first), (other, second) = seen
        assert one is other is kafka_cluster
        assert first != second
        assert first.startswith("test_writes-1-")
        assert not kafka_cluster.has_topic(first)
        assert not kafka_cluster.has_topic(second)
    """
    )

    run(pytester, passed=3)


def test_the_cluster_is_as_the_configuration_says(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml(
        """
        [tool.pytest.ini_options]
        barnabas_brokers = "2"
        barnabas_config = ["num.partitions=5", "default.replication.factor=1"]
        """
    )
    pytester.makepyfile(
        """
    def test_it(kafka_cluster, kafka_topic):
        assert kafka_cluster.broker_ids == [1, 2]
        assert kafka_cluster.leader_of(kafka_topic, 4) in (1, 2)
    """
    )

    run(pytester, passed=1)


def test_a_conftest_may_say_what_the_cluster_is_like(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
    import pytest

    @pytest.fixture(scope="session")
    def kafka_cluster_options(kafka_cluster_options, tmp_path_factory):
        return {**kafka_cluster_options, "data": str(tmp_path_factory.mktemp("kafka"))}
    """
    )
    pytester.makepyfile(
        """
    from pathlib import Path

    def test_it(kafka_cluster, tmp_path):
        assert Path(kafka_cluster.data).parent == tmp_path.parent
        assert Path(kafka_cluster.data, "node-1", "meta.properties").exists()
    """
    )

    run(pytester, passed=1)


def test_a_marker_says_how_the_topic_is_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
    import pytest

    @pytest.mark.kafka_topic(partitions=3, config={"cleanup.policy": "compact"})
    def test_it(kafka_cluster, kafka_topic):
        assert kafka_cluster.leader_of(kafka_topic, 2) == 1
        image = kafka_cluster.broker.view.image
        assert "compact" in str(image.configs)
    """
    )

    run(pytester, passed=1)


def test_a_topic_that_the_test_deleted_is_no_problem(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_it(kafka_cluster, kafka_topic): kafka_cluster.delete_topic(kafka_topic)"
    )

    run(pytester, passed=1)


def test_faults_do_not_outlive_their_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ROUND_TRIP
        + """
    from barnabas import ApiKey, ErrorCode

    def test_one(kafka_cluster, kafka_topic, kafka_faults):
        fault = kafka_faults.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER, count=1)
        kafka_faults.drop(ApiKey.METADATA, client_id="nobody")
        assert round_trip(kafka_cluster.bootstrap_servers, kafka_topic, b"x") == (b"x", 0)
        assert fault.fired == 1

    def test_other(kafka_cluster, kafka_faults):
        assert kafka_faults is kafka_cluster.faults
        assert not kafka_faults.active
    """
    )

    run(pytester, passed=2)


def test_a_session_without_kafka_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
    import sys

    def test_it():
        assert "barnabas.pytest_plugin" in sys.modules
        assert not [name for name in sys.modules if name.startswith("barnabas_")]
    """
    )

    run(pytester, passed=1)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('barnabas_brokers = "many"', "barnabas_brokers: 'many' is not a number"),
        ('barnabas_config = ["whatever"]', "barnabas_config: 'whatever' is not name=value"),
        ('barnabas_brokers = "0"', "at least one broker, not 0"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_one_clear_line(
    pytester: pytest.Pytester, line: str, complaint: str
) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{line}\n")
    pytester.makepyfile("def test_it(kafka_cluster): pass")

    assert complaint in run(pytester, errors=1)
