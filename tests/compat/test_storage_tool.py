"""`kafka-storage` against Kafka's own: each formats, each reads what the other wrote.

Directories are made once per side and mode; every check is on what the tools print or the files
say, not on exit statuses alone.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.metadata.bootstrap import BOOTSTRAP_FILE, FIRST_CHECKPOINT, load_bootstrap
from barnabas_core.raft.checkpoint_file import CheckpointContent, read_checkpoint
from barnabas_core.records.batch import split_batches
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.wire.primitive import uuid_text
from tests.support.dump_log import dump_files
from tests.support.external import JavaRuntime
from tests.support.kafka_node import CLUSTER_ID, KafkaNode, free_ports

STORAGE_TOOL = "kafka.tools.StorageTool"
NODE_ID = "JEXY6aqzQY-32P5TStzaFg"
OTHER_ID = "MvDxzVmcRsaTz33bUuRU6A"
SCRAM = (
    "-S", "SCRAM-SHA-256=[name=alice,password=alice-secret,salt=c2FsdA==]",
    "-S", 'SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]',
)  # fmt: skip
CONTROLLER = """\
process.roles=controller
node.id=3
controller.quorum.bootstrap.servers=localhost:9093
listeners=CONTROLLER://:9093
controller.listener.names=CONTROLLER
log.dirs={root}/data
"""
STATIC = """\
process.roles=broker,controller
node.id=3
controller.quorum.voters=3@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
log.dirs={root}/data,{root}/more
metadata.log.dir={root}/metadata
"""
BROKER = """\
process.roles=broker
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092
controller.listener.names=CONTROLLER
log.dirs={root}/data
"""


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    properties: str
    arguments: tuple[str, ...]


MODES = {
    mode.name: mode
    for mode in (
        Mode("standalone", CONTROLLER, ("--standalone", *SCRAM)),
        Mode(
            "initial",
            CONTROLLER,
            ("-I", f"3@h3:9093:{NODE_ID},4@h4:9093:{OTHER_ID}", "-f", "group.version=0"),
        ),
        Mode("joining", CONTROLLER, ("--no-initial-controllers",)),
        Mode("static", STATIC, ("--release-version", "3.9-IV0")),
        Mode("broker", BROKER, ("-I", f"3@h3:9093:{NODE_ID}")),
    )
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two tools with the directories that it made, one folder per mode."""

    root: Path
    run: Run

    def config(self, mode: str) -> str:
        return str(self.root / mode / "server.properties")

    def configure(self, mode: str, properties: str) -> None:
        (self.root / mode).mkdir(parents=True, exist_ok=True)
        Path(self.config(mode)).write_text(properties.format(root=self.root / mode))

    def format(self, mode: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.run("format", "-t", CLUSTER_ID, "-c", self.config(mode), *arguments)

    def files(self) -> dict[str, bytes]:
        found = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}

    def checkpoint(self, mode: str, folder: str = "data") -> CheckpointContent:
        return read_checkpoint((self.root / mode / folder / FIRST_CHECKPOINT).read_bytes())


def run_ours(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "barnabas.storage", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def kafka_runner(java: JavaRuntime) -> Run:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = java.command(STORAGE_TOOL, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    return run


def formatted(side: Side) -> Side:
    for mode in MODES.values():
        side.configure(mode.name, mode.properties)
        done = side.format(mode.name, *mode.arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    return side


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Side:
    return formatted(Side(tmp_path_factory.mktemp("ours"), run_ours))


@pytest.fixture(scope="module")
def theirs(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Side:
    return formatted(Side(tmp_path_factory.mktemp("theirs"), kafka_runner(java)))


def test_both_tools_write_the_same_files(ours: Side, theirs: Side) -> None:
    """Ids and times differ, lengths do not: every field is there, at Kafka's version."""
    sizes = [
        {name: len(data) for name, data in side.files().items() if not name.endswith(".properties")}
        for side in (ours, theirs)
    ]

    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 10
    metas = [name for name in ours.files() if name.endswith("meta.properties")]
    assert metas == [name for name in theirs.files() if name.endswith("meta.properties")]
    assert len(metas) == 7


@pytest.mark.parametrize("mode", MODES)
def test_both_tools_write_the_same_records(ours: Side, theirs: Side, mode: str) -> None:
    folders = sorted(path.name for path in (ours.root / mode).iterdir() if path.is_dir())

    for folder in folders:
        mine, other = (
            load_bootstrap(RealDisk(), f"{side.root}/{mode}/{folder}") for side in (ours, theirs)
        )
        assert mine == other
        files = [side.root / mode / folder / BOOTSTRAP_FILE for side in (ours, theirs)]
        assert timeless(files[0].read_bytes()) == timeless(files[1].read_bytes())


def timeless(data: bytes) -> bytes:
    """Batches without what depends on the time at which they were written."""
    rest = bytearray(data)
    for position, _ in split_batches(data):
        rest[position + 17 : position + 21] = bytes(4)  # checksum
        rest[position + 27 : position + 43] = bytes(16)  # first and last timestamp
    return bytes(rest)


@pytest.mark.parametrize("mode", ["standalone", "initial", "broker"])
def test_both_tools_write_the_same_voters(ours: Side, theirs: Side, mode: str) -> None:
    mine, other = ours.checkpoint(mode), theirs.checkpoint(mode)

    assert (mine.kraft_version, mine.batches) == (other.kraft_version, other.batches) == (1, [])
    assert mine.voters is not None
    assert other.voters is not None
    assert [voter.endpoints for voter in mine.voters] == [v.endpoints for v in other.voters]
    assert [voter.kraft_versions for voter in mine.voters] == [
        voter.kraft_versions for voter in other.voters
    ]
    if mode != "standalone":  # its id is random
        assert mine.voters == other.voters


@pytest.mark.parametrize("folder", ["standalone", "initial"])
def test_a_voters_directory_has_the_id_that_the_voters_say(
    ours: Side, theirs: Side, folder: str
) -> None:
    for side in (ours, theirs):
        meta = MetaProperties.decode((side.root / folder / "data/meta.properties").read_bytes())
        voters = side.checkpoint(folder).voters
        assert voters is not None
        assert meta.directory_id in [voter.key.directory_id for voter in voters]


@pytest.mark.parametrize("mode", ["standalone", "static"])
def test_each_tool_describes_what_the_other_formatted(ours: Side, theirs: Side, mode: str) -> None:
    mine = run_ours("info", "-c", theirs.config(mode))
    other = theirs.run("info", "-c", ours.config(mode))

    same = run_ours("info", "-c", ours.config(mode))
    assert (mine.returncode, other.returncode) == (0, 0)
    assert same.stdout == other.stdout
    for done in (mine, other):
        assert f"cluster.id={CLUSTER_ID}" in done.stdout
        assert "problem" not in done.stdout


def test_kafkas_dump_tool_reads_every_file_that_we_wrote(java: JavaRuntime, ours: Side) -> None:
    files = sorted(ours.root.rglob("*.checkpoint"))
    assert len(files) == 10

    dump = dump_files(java, files, "--cluster-metadata-decoder", print_data=False)

    assert dump.complaints == []
    assert dump.gaps == []
    assert sum(line.startswith("Dumping ") for line in dump.lines) == 10
    lines = [record.line for record in dump.records]
    assert sum("SnapshotHeader" in line for line in lines) == 10
    assert sum("SnapshotFooter" in line for line in lines) == 10
    voters = [_json_of(line, "KRaftVoters")["voters"] for line in lines if "KRaftVoters" in line]
    assert sorted(len(one) for one in voters) == [1, 1, 2]
    both = next(one for one in voters if len(one) == 2)
    assert {(voter["voterId"], voter["voterDirectoryId"]) for voter in both} == {
        (3, NODE_ID),
        (4, OTHER_ID),
    }
    payloads = [_json_of(line, "payload:") for line in lines if "payload:" in line]
    alice = next(one["data"] for one in payloads if one["data"]["name"] == "alice")
    assert alice["storedKey"] == "g+i1Ug79s7RF8ABC5JvY+Ey692w5yN4lOPqmHjtoY0w="
    levels = [one["data"] for one in payloads if one["type"] == "FEATURE_LEVEL_RECORD"]
    assert {one["featureLevel"] for one in levels if one["name"] == "metadata.version"} == {21, 30}


def _json_of(line: str, label: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(re.sub(rf".*\b{label} ?(?={{)", "", line))
    return decoded


REFUSED = {
    "formatted": ("standalone", ("--standalone",), "is already formatted. Use --ignore-formatted"),
    "ignored": ("standalone", ("-s", "-g"), ""),
    "two quorums": ("static", ("-s", "-g"), "You cannot specify controller.quorum.voters and"),
    "dependency": (
        "joining",
        ("-N", "-g", "-r", "3.8", "-f", "eligible.leader.replicas.version=1"),
        "because it depends on metadata.version level 23",
    ),
    "usage": ("joining", ("-N", "-s"), "not allowed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_tools_refuse_the_same(ours: Side, theirs: Side, case: str) -> None:
    mode, arguments, reason = REFUSED[case]
    before = ours.files()

    mine, other = ours.format(mode, *arguments), theirs.format(mode, *arguments)

    assert mine.returncode == other.returncode == (1 if reason else 0)
    for done in (mine, other):
        assert reason in " ".join((done.stdout + done.stderr).split())
    assert ours.files() == before


def test_both_tools_know_the_same_releases(theirs: Side) -> None:
    arguments = ("version-mapping", "--release-version", "4.0")

    assert run_ours(*arguments).stdout == theirs.run(*arguments).stdout


class NodeOfOurs(KafkaNode):
    """Kafka itself on a directory that our tool formatted, its quorum in the log."""

    def __init__(self, java: JavaRuntime, directory: Path) -> None:
        self.java = java
        self.directory = directory
        self.data = directory / "data"
        self.port, controller_port, internal_port = free_ports(3)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.properties = directory / "server.properties"
        self.properties.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}\n"
            f"log.dirs={self.data}\ninternal.listener=127.0.0.1:{internal_port}\n"
        )
        done = run_ours("format", "-s", "-t", CLUSTER_ID, "-c", str(self.properties), *SCRAM)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def node(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    node = NodeOfOurs(java, tmp_path_factory.mktemp("node"))
    with node.running():
        yield node


def test_kafka_starts_on_a_directory_that_we_formatted(node: KafkaNode) -> None:
    """With our own endpoint among the voter's, and the bootstrap records in its metadata."""
    voters = read_checkpoint((node.data / FIRST_CHECKPOINT).read_bytes()).voters
    assert voters is not None
    meta = MetaProperties.decode((node.data / "meta.properties").read_bytes())
    assert [one.listener for voter in voters for one in voter.endpoints] == [
        "CONTROLLER",
        "INTERNAL",
    ]

    admin = node.admin()  # kept: a client that is collected answers nobody
    credentials = admin.describe_user_scram_credentials(["alice", "bob"])
    assert isinstance(credentials, dict)
    alice, bob = (credentials[name].result(30) for name in ("alice", "bob"))
    node.create_topic("made", {})

    assert [info.iterations for info in alice.scram_credential_infos] == [4096]
    assert [info.iterations for info in bob.scram_credential_infos] == [8192]
    assert uuid_text(meta.directory_id or b"") == uuid_text(voters.voters[0].key.directory_id)
