"""Clients of every make in groups, and Kafka's own tools on these groups.

One cluster of three brokers, one topic with a hundred records. Each client joins a group of its
own, reads everything, and commits; what the tools print is then known.
"""

import asyncio
import itertools
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import kafka
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.barnabas_process import running_barnabas
from tests.support.external import JavaRuntime, obtain
from tests.support.java_source import java_command
from tests.support.kafka_tools import KafkaTools, kafka_tools
from tools.fetch import NEW_CLIENT_VERSION, Kcat, fetch_client

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
# What a client logs and compresses with.
LIBRARIES = ("slf4j-api", "slf4j-simple", "lz4-java", "snappy-java", "zstd-jni")

TOPIC = "orders"
PARTITIONS = 4
COUNT = 100
VALUES = [str(number) for number in range(COUNT)]
ALL_READ = dict.fromkeys(range(PARTITIONS), COUNT // PARTITIONS)
PROTOCOLS = ("classic", "consumer")
DEADLINE_S = 60


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("cluster")
    with running_barnabas(directory, "--brokers", "3") as (child, address):
        fill(address)
        yield address
        assert child.process.poll() is None, f"the cluster ended:\n{child.output()}"


@pytest.fixture(scope="module")
def jvm(
    java: JavaRuntime, java_classes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaTools]:
    log = tmp_path_factory.mktemp("tools") / "tools.err"
    with kafka_tools(java, java_classes, log) as tools:
        yield tools


def fill(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number, value in enumerate(VALUES):
        producer.produce(TOPIC, value, partition=number % PARTITIONS)
    assert producer.flush(DEADLINE_S) == 0


def committed(bootstrap: str, group: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(wanted)[group].result(DEADLINE_S)
    return {it.partition: it.offset for it in found.topic_partitions or []}


def member(bootstrap: str, group: str, protocol: str = "classic") -> Consumer:
    """It has read everything and committed it, and stays in the group until it is closed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"client-of-{group}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    found = 0
    give_up_at = time.monotonic() + DEADLINE_S
    while found < COUNT:
        assert time.monotonic() < give_up_at, f"{found} records"
        found += len(consumer.consume(COUNT, 0.2))
    consumer.commit(asynchronous=False)
    return consumer


# --- clients


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_newest_java_client_joins_shares_commits_and_comes_back(
    request: pytest.FixtureRequest,
    java: JavaRuntime,
    java_classes: Path,
    bootstrap: str,
    protocol: str,
) -> None:
    client = obtain(request, lambda: fetch_client(NEW_CLIENT_VERSION))
    libraries = [jar for name in LIBRARIES for jar in java.jars.glob(f"{name}-*.jar")]
    command = java_command(java, [java_classes, client, *libraries], "GroupLife")
    settings = (f"group.protocol={protocol}", "max.poll.records=30")

    done = subprocess.run(
        [*command, bootstrap, TOPIC, f"java-{protocol}", str(COUNT), *settings],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )

    assert done.returncode == 0, done.stderr
    version, *read, owned, at, again = done.stdout.splitlines()
    assert version == f"version {NEW_CLIENT_VERSION}"
    assert sorted(read) == sorted(f"read {value}" for value in VALUES)
    assert owned == "owned by two [0, 1, 2, 3]"
    assert at == "committed {0=25, 1=25, 2=25, 3=25}"
    assert again == "read again 0"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafkas_console_consumer_reads_in_a_group(
    jvm: KafkaTools, bootstrap: str, protocol: str
) -> None:
    group = f"console-{protocol}"

    printed = jvm.run(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", bootstrap, "--topic", TOPIC, "--group", group),
        *("--from-beginning", "--max-messages", str(COUNT)),
        *("--command-property", f"group.protocol={protocol}"),
    )

    assert sorted(printed.split()) == sorted(VALUES)
    assert committed(bootstrap, group) == ALL_READ


def test_aiokafka_reads_in_a_group(bootstrap: str) -> None:
    async def scenario() -> list[str]:
        consumer = aiokafka.AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap,
            group_id="aiokafka",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with asyncio.timeout(DEADLINE_S), consumer:
            found: list[str] = []
            while len(found) < COUNT:
                for records in (await consumer.getmany(timeout_ms=1_000)).values():
                    found += [(it.value or b"").decode() for it in records]
            await consumer.commit()
            return found

    assert sorted(asyncio.run(scenario())) == sorted(VALUES)
    assert committed(bootstrap, "aiokafka") == ALL_READ


def test_kafka_python_reads_in_a_group(bootstrap: str) -> None:
    consumer = kafka.KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="kafka-python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=DEADLINE_S * 1000,
    )
    found = [record.value.decode() for record in itertools.islice(consumer, COUNT)]
    consumer.commit()
    consumer.close()

    assert sorted(found) == sorted(VALUES)
    assert committed(bootstrap, "kafka-python") == ALL_READ


def test_kcat_reads_in_a_group(kcat: Kcat, bootstrap: str) -> None:
    done = subprocess.run(
        [
            *(str(kcat.program), "-b", bootstrap, "-q", "-c", str(COUNT)),
            *("-X", "auto.offset.reset=earliest", "-G", "kcat", TOPIC),
        ],
        env=os.environ | kcat.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(VALUES)
    assert committed(bootstrap, "kcat") == ALL_READ


# --- kafka-consumer-groups and kafka-groups


class GroupTool:
    def __init__(self, jvm: KafkaTools, bootstrap: str) -> None:
        self._jvm = jvm
        self._address = ("--bootstrap-server", bootstrap)

    def run(self, *arguments: str) -> str:
        return self._jvm.run(CONSUMER_GROUPS, *self._address, *arguments)

    def rows(self, *arguments: str) -> list[dict[str, str]]:
        """The table that it prints; no cell has a blank in it."""
        lines = [line for line in self.run(*arguments).splitlines() if line.strip()]
        start = next(n for n, line in enumerate(lines) if line.startswith("GROUP "))
        titles = lines[start].split()
        return [dict(zip(titles, line.split(), strict=False)) for line in lines[start + 1 :]]

    def groups(self, *arguments: str) -> list[list[str]]:
        printed = self._jvm.run(GROUPS, *self._address, "--list", *arguments)
        return [line.split() for line in printed.splitlines()]


@pytest.fixture
def tool(jvm: KafkaTools, bootstrap: str) -> GroupTool:
    return GroupTool(jvm, bootstrap)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_listed_described_reset_and_deleted(
    tool: GroupTool, bootstrap: str, protocol: str
) -> None:
    group = f"told-{protocol}"
    of_group = ("--group", group)
    consumer = member(bootstrap, group, protocol)

    assert group in tool.run("--list").split()
    states = [line.split() for line in tool.run("--list", "--state").splitlines()]
    assert [group, "Stable"] in states
    assert [group, protocol.capitalize(), "consumer"] in tool.groups()
    rows = tool.rows("--describe", *of_group)
    assert [(row["TOPIC"], int(row["PARTITION"])) for row in rows] == [
        (TOPIC, index) for index in range(PARTITIONS)
    ]
    assert {(row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) for row in rows} == {
        ("25", "25", "0")
    }
    (row,) = tool.rows("--describe", *of_group, "--state")
    assert (row["STATE"], row["#MEMBERS"]) == ("Stable", "1")
    (row,) = tool.rows("--describe", *of_group, "--members")
    assert (row["GROUP"], row["HOST"]) == (group, "/127.0.0.1")
    assert f"{TOPIC}:0,1,2,3" in tool.run("--describe", *of_group, "--members", "--verbose")
    reset = ("--reset-offsets", *of_group, "--topic", TOPIC, "--to-offset", "10")
    assert "is not empty" in busy(tool, "--delete", *of_group)
    assert "inactive" in busy(tool, *reset, "--execute")

    consumer.close()
    assert {row["NEW-OFFSET"] for row in tool.rows(*reset, "--dry-run")} == {"10"}
    assert committed(bootstrap, group) == ALL_READ
    tool.run(*reset, "--execute")
    assert committed(bootstrap, group) == dict.fromkeys(range(PARTITIONS), 10)
    (row,) = tool.rows("--describe", *of_group, "--state")
    assert (row["STATE"], row["#MEMBERS"]) == ("Empty", "0")
    assert {row["LAG"] for row in tool.rows("--describe", *of_group)} == {"15"}
    tool.run("--delete-offsets", *of_group, "--topic", f"{TOPIC}:3")
    assert set(committed(bootstrap, group)) == {0, 1, 2}
    assert "successful" in tool.run("--delete", *of_group)
    assert group not in tool.run("--list").split()
    assert group not in [line[0] for line in tool.groups()]


def busy(tool: GroupTool, *arguments: str) -> str:
    """What it says of a group with members, whatever its exit status."""
    printed = tool._jvm.attempt(CONSUMER_GROUPS, *tool._address, *arguments)
    return printed.out + printed.err


# --- what is on the disk


def test_kafkas_dump_tool_reads_the_topic_of_groups(jvm: KafkaTools, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_barnabas(tmp_path, "--data", str(data)) as (_, address):
        fill(address)
        for protocol in PROTOCOLS:
            member(address, f"kept-{protocol}", protocol).close()
    files = [str(path) for path in data.glob("node-1/__consumer_offsets-*/*.log")]
    written = ",".join(path for path in files if Path(path).stat().st_size)

    printed = jvm.run(DUMP, "--offsets-decoder", "--files", written)

    assert "isvalid: true" in printed
    assert "isvalid: false" not in printed
    offsets = re.findall(
        r'"group":"(kept-\w+)","topic":"orders","partition":(\d)\}\} payload: '
        r'\{"version":"\d+","data":\{"offset":(\d+)',
        printed,
    )
    assert sorted(set(offsets)) == sorted(
        (f"kept-{protocol}", str(index), "25")
        for protocol in PROTOCOLS
        for index in range(PARTITIONS)
    )
    assert '"protocolType":"consumer"' in printed
    assert '"subscribedTopicNames":["orders"]' in printed
