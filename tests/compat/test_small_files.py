"""The small files of a log directory: ours are Kafka's, byte for byte.

A real Kafka writes them and is stopped in good order; each must be read, and written again the
same. What it knows of its producers must be what we find when we replay its log.
"""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas_core.log.directories.checkpoint import (
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LEADER_EPOCH_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    decode_leader_epochs,
    decode_offsets,
    encode_leader_epochs,
    encode_offsets,
)
from barnabas_core.log.directories.directory_meta import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    MetaProperties,
    PartitionMetadata,
    decode_clean_shutdown,
    encode_clean_shutdown,
)
from barnabas_core.log.index.transaction_index import check_aborted, decode_aborted, encode_aborted
from barnabas_core.log.opening.replay import aborted_of, replay_batch
from barnabas_core.log.producers.producer_entry import unpack_entries
from barnabas_core.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.records.batch import split_batches
from tests.support.external import JavaRuntime
from tests.support.kafka_node import CLUSTER_ID, KafkaNode


@pytest.fixture(scope="module")
def data(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Path:
    node = KafkaNode(java, tmp_path_factory.mktemp("small-files"))
    with node.running() as kafka:
        node.create_topic("topic", {})
        write(node.bootstrap)
        kafka.stop()
    return node.data


def write(bootstrap: str) -> None:
    idempotent = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(7):
        idempotent.produce("topic", f"idempotent {number}")
        assert idempotent.flush(30) == 0
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "writer"})
    transactional.init_transactions(30)
    for number in range(4):
        transactional.begin_transaction()
        transactional.produce("topic", f"transactional {number}")
        assert transactional.flush(30) == 0
        if number % 2:
            transactional.commit_transaction(30)
        else:
            transactional.abort_transaction(30)


def only(paths: list[Path]) -> bytes:
    assert len(paths) == 1, paths
    return paths[0].read_bytes()


@pytest.mark.parametrize(
    "name", [RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, CLEANER_FILE]
)
def test_an_offset_checkpoint_is_written_again_the_same(data: Path, name: str) -> None:
    written = (data / name).read_bytes()

    offsets = decode_offsets(written)

    assert written in (b"", encode_offsets(offsets))
    if name == HIGH_WATERMARK_FILE:
        assert offsets["topic", 0] == 15


def test_leader_epochs_are_written_again_the_same(data: Path) -> None:
    written = (data / "topic-0" / LEADER_EPOCH_FILE).read_bytes()

    assert decode_leader_epochs(written) == [(0, 0)]
    assert encode_leader_epochs(decode_leader_epochs(written)) == written


def test_partition_metadata_are_written_again_the_same(data: Path) -> None:
    written = (data / "topic-0" / PARTITION_METADATA_FILE).read_bytes()

    assert PartitionMetadata.decode(written).encode() == written


def test_meta_properties_are_written_again_the_same_but_for_date_and_order(data: Path) -> None:
    written = (data / META_PROPERTIES_FILE).read_bytes()

    meta = MetaProperties.decode(written)

    assert (meta.cluster_id, meta.node_id) == (CLUSTER_ID, 1)
    ours, theirs = meta.encode(0).splitlines(), written.splitlines()
    assert ours[0] == theirs[0]
    # Java sorts them since version 18.
    assert ours[2:] == sorted(theirs[2:])
    # The same shape: day, month, day of the month, time, zone, year.
    assert [len(word) for word in ours[1].split()] == [len(word) for word in theirs[1].split()]


def test_a_clean_shutdown_is_written_again_the_same(data: Path) -> None:
    written = (data / CLEAN_SHUTDOWN_FILE).read_bytes()

    broker_epoch = decode_clean_shutdown(written)

    assert broker_epoch > 0
    assert encode_clean_shutdown(broker_epoch) == written


def test_a_producer_snapshot_is_written_again_the_same(data: Path) -> None:
    written = only(list((data / "topic-0").glob("*.snapshot")))

    entries = bytes(decode_snapshot(written))

    assert len(list(unpack_entries(entries))) == 2
    assert encode_snapshot(entries) == written


def test_replaying_kafkas_log_gives_kafkas_producers_and_aborted_transactions(data: Path) -> None:
    partition = data / "topic-0"
    log = only(list(partition.glob("*.log")))
    state = ProducerState()
    aborted = []
    for position, header in split_batches(log):
        completed = replay_batch(state, log, position, header)
        if completed is not None and completed.is_aborted:
            aborted.append(aborted_of(completed))

    snapshot = only(list(partition.glob("*.snapshot")))
    assert sorted(state.entries()) == sorted(unpack_entries(decode_snapshot(snapshot)))
    written = only(list(partition.glob("*.txnindex")))
    assert decode_aborted(written) == aborted
    assert len(aborted) == 2
    check_aborted(aborted, base_offset=0, next_offset=15)
    assert b"".join(map(encode_aborted, aborted)) == written
