"""What is on the disk is there again after a restart, however the process ended."""

from pathlib import Path

import pytest

from tests.support.barnabas_process import running_barnabas
from tests.support.librdkafka import produce, read

COUNT = 3_000


def values(start: int) -> list[bytes]:
    return [b"value %d" % number for number in range(start, start + COUNT)]


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_a_second_start_keeps_the_data(tmp_path: Path, crash: bool) -> None:
    data = str(tmp_path / "data")
    for start in (0, COUNT, 2 * COUNT):
        with running_barnabas(tmp_path, "--data", data) as (child, bootstrap):
            placed = produce(bootstrap, "kept", values(start), enable_idempotence="true")
            assert [offset for _, offset in placed] == list(range(start, start + COUNT))
            if crash:
                child.kill()
            else:
                assert child.stop() == 0

    with running_barnabas(tmp_path, "--data", data) as (_, bootstrap):
        found = [message.value() for message in read(bootstrap, "kept", 3 * COUNT)]

    assert found == [value for start in (0, COUNT, 2 * COUNT) for value in values(start)]


def test_topics_keep_their_ids_and_partitions(tmp_path: Path) -> None:
    from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
    from barnabas_core.wire.messages.metadata_response import MetadataResponse
    from tests.support.raw_client import RawClient

    def describe(bootstrap: str, *names: str) -> tuple[str | None, dict[str | None, bytes]]:
        host, _, port = bootstrap.rpartition(":")
        asked = MetadataRequest([MetadataRequestTopic(name=name) for name in names] or None)
        with RawClient((host, int(port))) as client:
            answer = client.ask(asked, 12, MetadataResponse)
        return answer.cluster_id, {topic.name: topic.topic_id for topic in answer.topics}

    data = str(tmp_path / "data")
    with running_barnabas(tmp_path, "--data", data) as (child, bootstrap):
        before = describe(bootstrap, "one", "two", "with-dash-7")
        child.kill()
    with running_barnabas(tmp_path, "--data", data) as (_, bootstrap):
        after = describe(bootstrap)

    assert after == before
    assert len(set(after[1].values())) == 3


def test_what_was_acknowledged_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    """A process crash loses nothing: what is acknowledged is with the kernel."""
    import itertools
    import threading

    from confluent_kafka import KafkaError, Message, Producer

    data = str(tmp_path / "data")
    acknowledged: list[bytes] = []
    with running_barnabas(tmp_path, "--data", data) as (child, bootstrap):
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
        enough = threading.Event()

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None:
                acknowledged.append(message.value() or b"")
                if len(acknowledged) == 2_000:
                    child.kill()
                    enough.set()

        for number in itertools.count():
            if enough.is_set():
                break
            producer.produce("kept", b"value %d" % number, on_delivery=on_delivery)
            producer.poll(0)
        producer.purge()
        producer.flush(10)

    with running_barnabas(tmp_path, "--data", data) as (_, bootstrap):
        found = {message.value() for message in read(bootstrap, "kept", len(acknowledged))}

    assert found >= set(acknowledged)
