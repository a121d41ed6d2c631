"""The `kafka-storage` command in this process: statuses, words, and that refusals write nothing."""

import re
from pathlib import Path

import pytest

from barnabas.storage.cli import main
from barnabas_core.metadata.bootstrap import load_bootstrap
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.wire.primitive import uuid_from_text

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
CONTROLLER = """\
process.roles=controller
node.id=3
controller.quorum.bootstrap.servers=localhost:9093
listeners=CONTROLLER://:9093
controller.listener.names=CONTROLLER
"""
STATIC = CONTROLLER.replace("bootstrap.servers=", "voters=3@")
BROKER = CONTROLLER.replace("roles=controller", "roles=broker").replace(
    "listeners=CONTROLLER://:9093", "listeners=PLAINTEXT://:9092"
)


class Tool:
    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.capsys = capsys
        self.err = ""

    def configure(self, text: str) -> None:
        (self.directory / "p").write_text(f"{text}log.dirs={self.directory}/a,{self.directory}/b\n")

    def run(self, *arguments: str) -> tuple[int, str]:
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
        out, self.err = self.capsys.readouterr()
        return status, out

    def format(self, *arguments: str) -> tuple[int, str]:
        return self.run("format", "-t", CLUSTER_ID, "-c", str(self.directory / "p"), *arguments)

    def info(self) -> tuple[int, str]:
        return self.run("info", "-c", str(self.directory / "p"))


@pytest.fixture
def tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tool:
    monkeypatch.delenv("KAFKA_NODE_ID", raising=False)
    return Tool(tmp_path, capsys)


def test_random_ids_are_uuids(tool: Tool) -> None:
    status, first = tool.run("random-uuid")

    assert status == 0
    assert len(uuid_from_text(first.strip())) == 16
    assert tool.run("random-uuid")[1] != first


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["format"], ["format", "-t", "x"], ["info"], ["feature-dependencies"],
     ["format", "-t", "x", "-c", "p", "-s", "-N"], ["format", "--clust", "x"]],
)  # fmt: skip
def test_a_wrong_command_line_ends_with_1(tool: Tool, arguments: list[str]) -> None:
    status, out = tool.run(*arguments)

    assert (status, out) == (1, "")
    assert tool.err.startswith("usage: kafka-storage")


@pytest.mark.parametrize(
    "command",
    ["", "info", "format", "version-mapping", "feature-dependencies", "random-uuid"],
)
def test_every_command_has_help(tool: Tool, command: str) -> None:
    status, out = tool.run(*([command] if command else []), "--help")

    assert status == 0
    assert out.startswith("usage: kafka-storage")


def test_format_then_info(tool: Tool) -> None:
    tool.configure(CONTROLLER)

    status, out = tool.format("--standalone")
    assert status == 0
    assert f"Formatting dynamic metadata voter directory {tool.directory}/a with" in out
    assert f"Formatting data directory {tool.directory}/b with metadata.version 4.3-IV0." in out

    status, out = tool.info()
    assert status == 0
    assert out.splitlines()[:4] == [
        "Found log directories:",
        f"  {tool.directory}/a",
        f"  {tool.directory}/b",
        "",
    ]
    assert re.search(rf"Found metadata: {{cluster.id={CLUSTER_ID}, directory.id=\S{{22}}, ", out)
    assert "problem" not in out


def test_info_tells_what_is_wrong(tool: Tool) -> None:
    tool.configure(STATIC)
    (tool.directory / "a").mkdir()
    (tool.directory / "b").write_text("")

    assert tool.info() == (
        1,
        (
            f"Found log directory:\n  {tool.directory}/a\n\nFound problems:\n"
            f"  {tool.directory}/a is not formatted.\n  {tool.directory}/b is not a directory\n\n"
        ),
    )
    (tool.directory / "b").unlink()
    (tool.directory / "a" / "meta.properties").write_text("version=0\n")
    status, out = tool.info()
    assert status == 1
    assert f"Error loading {tool.directory}/a/meta.properties" in out
    assert f"{tool.directory}/b does not exist" in out


def test_info_notices_directories_of_two_nodes(tool: Tool) -> None:
    tool.configure(STATIC)
    assert tool.format()[0] == 0
    path = tool.directory / "b" / "meta.properties"

    path.write_text(path.read_text().replace("node.id=3", "node.id=4"))
    assert "Mismatched node IDs between storage directories." in tool.info()[1]
    path.write_text(path.read_text().replace(CLUSTER_ID, "another"))
    assert "Mismatched cluster IDs between storage directories." in tool.info()[1]


def test_the_environment_overrides_the_file(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.configure(BROKER)
    monkeypatch.setenv("KAFKA_NODE_ID", "77")
    monkeypatch.setenv("KAFKA_SERVICE_HOST", "10.0.0.1")

    assert tool.format()[0] == 0
    assert "the environment sets service.host, which is no property" in tool.err
    assert "node.id=77" in (tool.directory / "a" / "meta.properties").read_text()


def test_features_and_credentials_are_in_the_bootstrap_metadata(tool: Tool) -> None:
    tool.configure(STATIC)

    status, out = tool.format(
        "-r", "4.0-IV3", "-f", "group.version=0", "-f", "transaction.version=1",
        "-S", "SCRAM-SHA-256=[name=alice,password=secret]",
    )  # fmt: skip

    assert status == 0
    assert "secret" not in out
    bootstrap = load_bootstrap(RealDisk(), f"{tool.directory}/a")
    assert bootstrap.feature_levels == {"metadata.version": 25, "transaction.version": 1}
    assert len(bootstrap.records) == 3


def test_a_formatted_node_stays_as_it_is(tool: Tool) -> None:
    tool.configure(STATIC)
    assert tool.format()[0] == 0

    assert tool.format()[0] == 1
    assert "already formatted. Use --ignore-formatted" in tool.err
    assert tool.format("-g") == (0, "All of the log directories are already formatted.\n")


@pytest.mark.parametrize(
    ("properties", "arguments", "reason"),
    [
        (CONTROLLER, [], "you must specify one of the following: --standalone"),
        (BROKER, ["-s"], "You can only use --standalone on a controller"),
        (STATIC, ["-s"], "You cannot specify controller.quorum.voters and format the node"),
        (CONTROLLER, ["-I", "3@h:1"], "No colon following port"),
        (CONTROLLER, ["-s", "-f", "kraft.version=0"], "Cannot set kraft.version to 0 if"),
        (STATIC, ["-f", "kraft.version=1"], "Cannot set kraft.version to 1 unless"),
        (STATIC, ["-f", "colour=1"], "Unsupported feature: colour"),
        (STATIC, ["-f", "group.version"], "equals sign not found"),
        (STATIC, ["-f", "group.version=one"], "unable to parse one as a short"),
        (STATIC, ["-f", "metadata.version=30", "-r", "4.3"], "Use --release-version instead"),
        (STATIC, ["-f", "metadata.version=31"], "not yet stable"),
        (STATIC, ["-r", "4.4-IV0"], "Unknown metadata.version '4.4-IV0'"),
        (STATIC, ["-r", "rubbish"], "Unknown metadata.version 'rubbish'"),
        (STATIC, ["-S", "SCRAM-SHA-256=[name=a]"], "You must supply one of"),
        (STATIC, ["-r", "3.4", "-S", "SCRAM-SHA-256=[name=a,password=b]"], "SCRAM is only"),
        (STATIC.replace("node.id=3", "node.id=4"), [], "the node id 4 must be included"),
    ],
)
def test_a_refusal_is_one_line_and_writes_nothing(
    tool: Tool, properties: str, arguments: list[str], reason: str
) -> None:
    tool.configure(properties)

    assert tool.format(*arguments) == (1, "")
    assert reason in tool.err
    assert tool.err.count("\n") == 1
    assert not (tool.directory / "a").exists()


def test_releases_and_their_features(tool: Tool) -> None:
    assert tool.run("version-mapping")[1].splitlines()[:2] == [
        "metadata.version=30 (4.3-IV0)",
        "kraft.version=1",
    ]
    assert "transaction.version=0" in tool.run("version-mapping", "-r", "3.9-IV0")[1]
    assert tool.run("version-mapping", "-r", "rubbish")[0] == 1


def test_what_features_depend_on(tool: Tool) -> None:
    elr = tool.run("feature-dependencies", "-f", "eligible.leader.replicas.version=1")
    both = tool.run("feature-dependencies", "-f", "metadata.version=30", "-f", "group.version=1")

    assert elr == (
        0,
        "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n",
    )
    assert both[1].splitlines() == [
        "metadata.version=30 (4.3-IV0) has no dependencies.",
        "group.version=1 has no dependencies.",
    ]
    for wrong in ("colour=1", "group.version=9", "group.version", "group.version=x",
                  "metadata.version=99"):  # fmt: skip
        assert tool.run("feature-dependencies", "-f", wrong)[0] == 1
