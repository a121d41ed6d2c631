"""Metadata directories between Kafka 4.3.1 and us: each reads what the other wrote."""

import asyncio
import shutil
from pathlib import Path

import pytest

from barnabas_controller.quorum.opening import open_metadata
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.metadata.record import decode_record, encode_record
from barnabas_core.raft import NodeId, ReplicaKey, Voter, VoterSet
from barnabas_core.raft.checkpoint_file import read_checkpoint
from barnabas_core.raft.quorum_state import decode_quorum_state, encode_quorum_state
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.primitive import uuid_from_text
from tests.support.dump_log import dump_directory, dump_files
from tests.support.external import JavaRuntime
from tests.support.kafka_node import CLUSTER_ID, KafkaNode
from tests.support.quorum_lab import LabNode, QuorumLab, Settings, endpoints_of, until

METADATA = "__cluster_metadata-0"
FREQUENT_SNAPSHOTS = "metadata.log.max.record.bytes.between.snapshots=1000\n"


class DynamicNode(KafkaNode):
    """One whose voters are in the log (kraft.version 1)."""

    def __init__(self, java: JavaRuntime, directory: Path) -> None:
        super().__init__(java, directory, FREQUENT_SNAPSHOTS)
        text = self.properties.read_text()
        self.properties.write_text(
            text.replace("controller.quorum.voters=1@", "controller.quorum.bootstrap.servers=")
        )
        shutil.rmtree(self.data)
        config = ("-t", CLUSTER_ID, "-c", str(self.properties))
        java.run("kafka.tools.StorageTool", "format", "--standalone", *config)

    @property
    def directory_id(self) -> bytes:
        lines = (self.data / "meta.properties").read_text().splitlines()
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        return uuid_from_text(found["directory.id"])


def used(node: KafkaNode) -> None:
    """It has run, made topics, written snapshots, and ended in good order."""
    with node.running() as child:
        for number in range(20):
            node.create_topic(f"topic-{number}", {}, partitions=3)
        child.stop()


@pytest.fixture(scope="module")
def static_kafka(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> KafkaNode:
    node = KafkaNode(java, tmp_path_factory.mktemp("static"), FREQUENT_SNAPSHOTS)
    used(node)
    return node


@pytest.fixture(scope="module")
def dynamic_kafka(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> DynamicNode:
    node = DynamicNode(java, tmp_path_factory.mktemp("dynamic"))
    used(node)
    return node


def topics_in(values: list[bytes]) -> set[str]:
    records = [decode_record(value) for value in values]
    return {record.name for record in records if isinstance(record, TopicRecord)}


def log_sizes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in directory.glob("*.log")}


ALL_TOPICS = {f"topic-{number}" for number in range(20)}


def test_kafkas_quorum_state_is_read_and_written_to_the_byte(
    static_kafka: KafkaNode, dynamic_kafka: DynamicNode
) -> None:
    for node, level in ((static_kafka, 0), (dynamic_kafka, 1)):
        data = (node.data / METADATA / "quorum-state").read_bytes()

        state = decode_quorum_state(data)

        assert state.epoch > 0
        assert encode_quorum_state(state, level, [1]) == data


def test_kafkas_snapshots_are_read(dynamic_kafka: DynamicNode) -> None:
    paths = sorted((dynamic_kafka.data / METADATA).glob("*.checkpoint"))
    newest = read_checkpoint(paths[-1].read_bytes())

    assert newest.kraft_version == 1
    assert newest.voters is not None
    (voter,) = newest.voters
    assert voter.key == ReplicaKey(NodeId(1), dynamic_kafka.directory_id)
    assert voter.endpoints[0].listener == "CONTROLLER"
    values = [bytes(value) for batch in newest.batches for value in batch]
    assert topics_in(values) & ALL_TOPICS


def test_kafkas_metadata_log_opens(static_kafka: KafkaNode, tmp_path: Path) -> None:
    shutil.copytree(static_kafka.data / METADATA, tmp_path / METADATA)
    sizes = log_sizes(tmp_path / METADATA)
    assert sum(sizes.values()) > 0

    config = QuorumConfig(
        node_id=1,
        cluster_id=CLUSTER_ID,
        metadata_dir=str(tmp_path),
        directory_id=bytes(16),
        endpoints=endpoints_of(1),
    )

    opened = open_metadata(RealDisk(), SystemRng(), config, 1)

    log = opened.partition_log
    # Kafka may have written its last snapshot right at the end of the log.
    assert log.log_end_offset >= opened.snapshots[-1].id.end_offset > 0
    assert log_sizes(tmp_path / METADATA) == sizes, "nothing of it was cut off"
    assert opened.hard_state is not None
    assert log.epochs.latest_epoch == opened.hard_state.epoch
    log.close(1)


async def take_over(directory: Path, settings: Settings) -> list[bytes]:
    """Our driver on Kafka's directory: leads, adds a record, and leaves; all that it was told."""
    async with QuorumLab(directory) as lab:
        node = lab.add(1, settings={"metadata_dir": str(directory), **settings})
        await node.start()
        leader = await lab.leader()
        await leader.commit(encode_record(NoOpRecord(), 0))
        return list(leader.listener.committed)


def test_a_directory_goes_from_kafka_to_us_and_back(
    dynamic_kafka: DynamicNode, tmp_path: Path
) -> None:
    node = dynamic_kafka
    settings: Settings = {"directory_id": node.directory_id, "snapshot_bytes": 1}
    epoch = decode_quorum_state((node.data / METADATA / "quorum-state").read_bytes()).epoch

    told = asyncio.run(take_over(node.data, settings))

    assert topics_in(told) >= ALL_TOPICS
    state = decode_quorum_state((node.data / METADATA / "quorum-state").read_bytes())
    assert state.epoch > epoch
    with node.running():
        listed = node.admin().list_topics(timeout=10).topics
        assert set(listed) >= ALL_TOPICS
        node.create_topic("after-us", {})


def test_a_static_directory_goes_from_kafka_to_us_and_back(
    static_kafka: KafkaNode, tmp_path: Path
) -> None:
    node = static_kafka
    voters = VoterSet.of([Voter(ReplicaKey(NodeId(1)), endpoints_of(1))])

    told = asyncio.run(take_over(node.data, {"static_voters": voters, "snapshot_bytes": 1}))

    assert topics_in(told) >= ALL_TOPICS
    with node.running():
        assert set(node.admin().list_topics(timeout=10).topics) >= ALL_TOPICS


async def write_ours(directory: Path) -> LabNode:
    """A log of several segments and a snapshot, all of real metadata records."""
    async with QuorumLab(directory) as lab:
        settings = {"segment_bytes": 4096, "snapshot_bytes": 8192, "retention_ms": -1}
        await lab.start(1, settings=settings)
        leader = await lab.leader()
        for number in range(300):
            topic = TopicRecord(f"topic-{number}", number.to_bytes(16))
            await leader.commit(encode_record(topic, 0), encode_record(NoOpRecord(), 0))
        log = leader.driver.committed_log
        await until(lambda: (log.latest_snapshot() or (0, 0))[0] > 0, "a snapshot")
        return leader


def test_kafkas_dump_tool_reads_our_log_and_snapshots(java: JavaRuntime, tmp_path: Path) -> None:
    node = asyncio.run(write_ours(tmp_path))

    dump = dump_directory(java, node.path)
    assert dump.complaints == []
    assert dump.gaps == []
    logs = sorted(node.path.glob("*.log"))
    decoded = dump_files(java, logs, "--cluster-metadata-decoder")
    assert decoded.complaints == []
    text = "\n".join(record.line for record in decoded.records)
    assert len(logs) > 2
    assert text.count('"type":"TOPIC_RECORD"') == 300
    for control in ("LeaderChange", "KRaftVersion", "KRaftVoters"):
        assert control in text

    newest = max(node.path.glob("*.checkpoint"))
    dumped = dump_files(java, [newest], "--cluster-metadata-decoder")
    assert dumped.complaints == []
    lines = "\n".join(record.line for record in dumped.records)
    for control in ("SnapshotHeader", "KRaftVersion", "KRaftVoters", "SnapshotFooter"):
        assert control in lines
    assert lines.count('"type":"TOPIC_RECORD"') > 50
