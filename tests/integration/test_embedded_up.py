"""`barnabas up --brokers 3`: a cluster of several brokers in one process, from outside."""

import signal
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.barnabas_process import running_barnabas
from tests.support.librdkafka import produce, read


def values(start: int, count: int) -> list[bytes]:
    return [b"value %d" % number for number in range(start, start + count)]


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result(30)


def test_three_brokers_keep_their_data_from_one_start_to_the_next(tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = ("--brokers", "3", "--data", str(data))
    with running_barnabas(tmp_path, *options) as (child, bootstrap):
        assert len(bootstrap.split(",")) == 3
        create(bootstrap, "kept", 1)
        produce(bootstrap, "kept", values(0, 500), acks="all")
        child.process.send_signal(signal.SIGINT)
        assert child.process.wait(60) == 0
        assert "Traceback" not in child.output()
    for number in (1, 2, 3):
        assert (data / f"node-{number}" / ".kafka_cleanshutdown").exists()
        assert (data / f"node-{number}" / "kept-0").is_dir()

    with running_barnabas(tmp_path, *options) as (_, bootstrap):
        produce(bootstrap, "kept", values(500, 500), acks="all")
        found = read(bootstrap, "kept", 1000)

    assert [message.value() for message in found] == values(0, 1000)


def test_three_brokers_that_were_killed_together_come_back(tmp_path: Path) -> None:
    options = ("--brokers", "3", "--data", str(tmp_path / "data"))
    with running_barnabas(tmp_path, *options) as (child, bootstrap):
        create(bootstrap, "kept", 1)
        produce(bootstrap, "kept", values(0, 500), acks="all")
        child.kill()

    with running_barnabas(tmp_path, *options) as (_, bootstrap):
        found = read(bootstrap, "kept", 500)

    assert [message.value() for message in found] == values(0, 500)


def test_more_brokers_may_be_asked_for_the_next_time(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    with running_barnabas(tmp_path, *data) as (child, bootstrap):
        produce(bootstrap, "kept", values(0, 10))
        assert child.stop() == 0

    with running_barnabas(tmp_path, *data, "--brokers", "3") as (_, bootstrap):
        create(bootstrap, "wide", 1)
        produce(bootstrap, "wide", values(0, 10), acks="all")
        found = read(bootstrap, "kept", 10)

    assert [message.value() for message in found] == values(0, 10)
