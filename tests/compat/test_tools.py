"""Kafka's own command line tools, 4.3.1, against `barnabas up --brokers 3`: what they print."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.barnabas_process import running_barnabas
from tests.support.external import JavaRuntime
from tests.support.kafka_tools import KafkaTools, kafka_tools
from tests.support.librdkafka import produce

API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
CONFIGS = "kafka.admin.ConfigCommand"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"

DEADLINE_S = 60


class Tools:
    """The tools, told where the cluster is."""

    def __init__(self, jvm: KafkaTools, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._jvm = jvm

    def run(self, tool: str, *arguments: str) -> str:
        return self._jvm.run(tool, *self._with_address(tool, arguments))

    def complaint(self, tool: str, *arguments: str) -> str:
        printed = self._jvm.attempt(tool, *self._with_address(tool, arguments))
        assert printed.status != 0, printed
        return printed.out + printed.err

    def _with_address(self, tool: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
        address = ("--bootstrap-server", self.bootstrap)
        # These two want it before the command, and the others behind or anywhere.
        return (*address, *arguments) if tool in (QUORUM, FEATURES) else (*arguments, *address)

    def create(self, topic: str, *options: str) -> None:
        assert f"Created topic {topic}." in self.run(TOPICS, "--create", "--topic", topic, *options)
        self.until(lambda: self.run(TOPICS, "--list"), lambda it: topic in it.split())

    def describe(self, topic: str) -> dict[int, dict[str, str]]:
        """Of each partition: Leader, Replicas, Isr."""
        printed = self.run(TOPICS, "--describe", "--topic", topic)
        rows = [
            dict(re.findall(r"(\w+): ([\w,]+)", line))
            for line in printed.splitlines()
            if line.startswith("\t")
        ]
        return {int(row["Partition"]): row for row in rows}

    def until(self, ask: Callable[[], str], holds: Callable[[str], object]) -> str:
        """Brokers hear of a change a moment after the tool was told that it is made."""
        give_up_at = time.monotonic() + DEADLINE_S
        while True:
            printed = ask()
            if holds(printed):
                return printed
            assert time.monotonic() < give_up_at, printed
            time.sleep(0.05)


@pytest.fixture(scope="module")
def tools(
    java: JavaRuntime, java_classes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    directory = tmp_path_factory.mktemp("tools")
    with (
        running_barnabas(directory, "--brokers", "3") as (child, bootstrap),
        kafka_tools(java, java_classes, directory / "tools.err") as jvm,
    ):
        yield Tools(jvm, bootstrap)
        assert child.process.poll() is None, f"the cluster ended:\n{child.output()}"


# --- kafka-topics


def test_a_topic_is_created_described_altered_listed_and_deleted(tools: Tools) -> None:
    tools.create("life", "--partitions", "2", "--config", "cleanup.policy=compact")

    printed = tools.run(TOPICS, "--describe", "--topic", "life")
    assert re.search(r"Topic: life\tTopicId: \S{22}\tPartitionCount: 2\t", printed)
    assert "ReplicationFactor: 3" in printed
    assert "cleanup.policy=compact" in printed
    for row in tools.describe("life").values():
        assert sorted(row["Replicas"].split(",")) == sorted(row["Isr"].split(",")) == list("123")
        assert row["Leader"] == row["Replicas"][0]

    tools.run(TOPICS, "--alter", "--topic", "life", "--partitions", "5")
    tools.until(lambda: str(len(tools.describe("life"))), lambda count: count == "5")

    tools.run(TOPICS, "--delete", "--topic", "life")
    tools.until(lambda: tools.run(TOPICS, "--list"), lambda printed: "life" not in printed.split())


def test_what_kafka_topics_refuses_it_refuses_with_the_brokers_reason(tools: Tools) -> None:
    tools.create("taken")

    taken = tools.complaint(TOPICS, "--create", "--topic", "taken")
    wide = tools.complaint(TOPICS, "--create", "--topic", "wide", "--replication-factor", "4")
    odd = tools.complaint(TOPICS, "--create", "--topic", "odd", "--config", "cleanup.policy=maybe")
    fewer = tools.complaint(TOPICS, "--alter", "--topic", "taken", "--partitions", "1")
    absent = tools.complaint(TOPICS, "--describe", "--topic", "absent")

    assert "Topic 'taken' already exists" in taken
    assert "larger than available brokers" in wide or "InvalidReplicationFactor" in wide
    assert "cleanup.policy" in odd
    assert "InvalidPartitionsException" in fewer
    assert "absent" in absent


# --- kafka-configs


def test_the_config_of_a_topic_is_described_and_altered(tools: Tools) -> None:
    tools.create("configured")
    entity = ("--entity-type", "topics", "--entity-name", "configured")

    said = tools.run(CONFIGS, "--alter", *entity, "--add-config", "retention.ms=1000")
    assert "Completed updating config for topic configured." in said
    changed = tools.until(
        lambda: tools.run(CONFIGS, "--describe", *entity), lambda it: "retention.ms" in it
    )
    assert "retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:" in changed
    all_of_it = tools.run(CONFIGS, "--describe", "--all", *entity)
    assert "synonyms={DEFAULT_CONFIG:log.cleanup.policy=delete}" in all_of_it

    tools.run(CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    tools.until(
        lambda: tools.run(CONFIGS, "--describe", *entity), lambda it: "retention.ms" not in it
    )
    refused = tools.complaint(CONFIGS, "--alter", *entity, "--add-config", "retention.ms=soon")
    assert "retention.ms" in refused


def test_the_configs_of_brokers_and_their_loggers_are_described_and_altered(tools: Tools) -> None:
    brokers = ("--entity-type", "brokers")
    one = (*brokers, "--entity-name", "2")
    tools.run(CONFIGS, "--alter", *one, "--add-config", "log.cleaner.threads=2")
    tools.run(
        CONFIGS, "--alter", *brokers, "--entity-default", "--add-config", "log.cleaner.threads=3"
    )
    described = tools.until(
        lambda: tools.run(CONFIGS, "--describe", "--all", *one),
        lambda it: "DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=3" in it,
    )

    assert "node.id=2 " in described
    assert "log.cleaner.threads=2 sensitive=false" in described
    assert "DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2" in described
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
    assert "root=WARN" in tools.run(CONFIGS, "--describe", *loggers)
    tools.run(CONFIGS, "--alter", *loggers, "--add-config", "root=ERROR")
    assert "root=ERROR" in tools.run(CONFIGS, "--describe", *loggers)


def test_quotas_and_scram_credentials_are_kept(tools: Tools) -> None:
    client = ("--entity-type", "clients", "--entity-name", "a-client")
    tools.run(CONFIGS, "--alter", *client, "--add-config", "producer_byte_rate=1000")
    user = ("--entity-type", "users", "--entity-name", "alice")
    credential = "SCRAM-SHA-256=[iterations=4096,password=secret]"
    tools.run(CONFIGS, "--alter", *user, "--add-config", credential)

    quota = tools.run(CONFIGS, "--describe", *client)
    known = tools.run(CONFIGS, "--describe", *user)

    assert "Quota configs for client-id 'a-client' are producer_byte_rate=1000.0" in quota
    assert "for user-principal 'alice' are SCRAM-SHA-256=iterations=4096" in known


# --- kafka-get-offsets, kafka-delete-records, kafka-log-dirs


def test_records_are_counted_deleted_and_weighed(tools: Tools, tmp_path: Path) -> None:
    tools.create("counted", "--partitions", "1")
    produce(tools.bootstrap, "counted", [b"x" * 100 for _ in range(50)], acks="all")

    def offset(time_: str) -> str:
        return tools.run(GET_OFFSETS, "--topic", "counted", "--time", time_).strip()

    assert (offset("earliest"), offset("latest")) == ("counted:0:0", "counted:0:50")
    assert offset("max-timestamp").startswith("counted:0:")
    wanted = tmp_path / "wanted.json"
    partition = {"topic": "counted", "partition": 0, "offset": 20}
    wanted.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    deleted = tools.run(DELETE_RECORDS, "--offset-json-file", str(wanted))
    assert "partition: counted-0\tlow_watermark: 20" in deleted
    assert offset("earliest") == "counted:0:20"

    printed = tools.run(LOG_DIRS, "--describe", "--topic-list", "counted")
    (line,) = [line for line in printed.splitlines() if line.startswith("{")]
    brokers = json.loads(line)["brokers"]
    assert [broker["broker"] for broker in brokers] == [1, 2, 3]
    for broker in brokers:
        (directory,) = broker["logDirs"]
        assert directory["error"] is None
        assert directory["logDir"].endswith(f"node-{broker['broker']}")
        (replica,) = directory["partitions"]
        assert replica["partition"] == "counted-0"
        assert replica["size"] > 0
        assert (replica["offsetLag"], replica["isFuture"]) == (0, False)


def test_records_of_a_compacted_topic_are_not_deleted(tools: Tools, tmp_path: Path) -> None:
    tools.create("compacted", "--config", "cleanup.policy=compact")
    wanted = tmp_path / "wanted.json"
    partition = {"topic": "compacted", "partition": 0, "offset": 0}
    wanted.write_text(json.dumps({"version": 1, "partitions": [partition]}))

    printed = tools.run(DELETE_RECORDS, "--offset-json-file", str(wanted))

    assert "PolicyViolationException" in printed


# --- kafka-reassign-partitions, kafka-leader-election


def test_partitions_move_to_other_brokers_and_their_leaders_with_them(
    tools: Tools, tmp_path: Path
) -> None:
    tools.create("moved", "--replica-assignment", "1:2,2:1")
    produce(tools.bootstrap, "moved", [b"%d" % number for number in range(100)], acks="all")
    topics, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "moved"}]}))
    targets = {0: [3, 1], 1: [3, 2]}
    wanted = [
        {"topic": "moved", "partition": number, "replicas": replicas}
        for number, replicas in targets.items()
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))

    proposed = tools.run(
        *(REASSIGN, "--generate", "--topics-to-move-json-file", str(topics)),
        *("--broker-list", "2,3"),
    )
    assert "Proposed partition reassignment configuration" in proposed
    started = tools.run(REASSIGN, "--execute", "--reassignment-json-file", str(plan))
    assert "Successfully started partition reassignments for moved-0,moved-1" in started
    tools.until(
        lambda: tools.run(REASSIGN, "--verify", "--reassignment-json-file", str(plan)),
        lambda it: it.count("is completed") == 2,
    )

    assert "No partition reassignments found." in tools.run(REASSIGN, "--list")
    tools.run(LEADER_ELECTION, "--election-type", "preferred", "--all-topic-partitions")
    tools.until(
        lambda: str([row["Leader"] for row in tools.describe("moved").values()]),
        lambda leaders: leaders == "['3', '3']",
    )
    described = tools.describe("moved")
    assert [described[number]["Replicas"] for number in targets] == ["3,1", "3,2"]


def test_an_election_that_is_not_needed_says_so(tools: Tools) -> None:
    tools.create("led", "--replica-assignment", "1:2")

    printed = tools.run(
        *(LEADER_ELECTION, "--election-type", "preferred", "--topic", "led", "--partition", "0")
    )

    assert "Valid replica already elected for partitions led-0" in printed


# --- kafka-metadata-quorum, kafka-features, kafka-cluster, kafka-broker-api-versions


def test_the_quorum_and_those_who_follow_it_are_described(tools: Tools) -> None:
    status = tools.run(QUORUM, "describe", "--status")
    replication = tools.run(QUORUM, "describe", "--replication")

    assert re.search(r"^LeaderId:\s+1$", status, re.MULTILINE)
    (voter,) = json.loads(re.findall(r"CurrentVoters:\s+(.*)", status)[0])
    assert voter["id"] == 1
    rows = [line.split() for line in replication.splitlines()[1:] if line]
    assert [(row[0], row[-1]) for row in rows] == [
        ("1", "Leader"),
        *((broker_id, "Observer") for broker_id in "123"),
    ]


def test_features_are_described_and_changed(tools: Tools) -> None:
    printed = tools.run(FEATURES, "describe")
    levels = dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", printed))

    assert levels["metadata.version"] == "4.3-IV0"
    assert (levels["transaction.version"], levels["group.version"]) == ("2", "1")
    assert levels["eligible.leader.replicas.version"] == "1"
    lower = ("downgrade", "--feature", "share.version=0")
    assert "can be downgraded to 0" in tools.run(FEATURES, *lower, "--dry-run")
    assert "was downgraded to 0" in tools.run(FEATURES, *lower)
    assert "was upgraded to 1" in tools.run(FEATURES, "upgrade", "--feature", "share.version=1")


def test_the_cluster_says_its_id_and_who_belongs_to_it(tools: Tools) -> None:
    cluster_id = tools.run(CLUSTER, "cluster-id")
    endpoints = tools.run(CLUSTER, "list-endpoints")

    assert re.search(r"Cluster ID: \S{22}$", cluster_id.strip())
    rows = [line.split() for line in endpoints.splitlines()[1:] if line]
    expected = [(str(number + 1), at) for number, at in enumerate(tools.bootstrap.split(","))]
    assert [(row[0], f"{row[1]}:{row[2]}") for row in rows] == expected
    assert {row[4] for row in rows} == {"unfenced"}


def test_every_broker_serves_the_same_apis(tools: Tools) -> None:
    printed = tools.run(API_VERSIONS)
    brokers = re.split(r"^\S+ \(id: \d.*\) -> \($", printed, flags=re.MULTILINE)[1:]

    assert len(brokers) == 3
    assert len({broker.strip() for broker in brokers}) == 1
    served = dict(re.findall(r"\t(\w+)\(\d+\): (\S.*?) \[usable", brokers[0]))
    assert served["Produce"] == "0 to 13"
    assert served["Fetch"] == "4 to 18"
    assert {"Metadata", "CreateTopics", "DescribeConfigs", "DescribeLogDirs"} <= set(served)


# --- kafka-client-metrics


def test_client_metrics_are_altered_described_listed_and_deleted(tools: Tools) -> None:
    wanted = ("--metrics", "org.apache.kafka.producer.", "--interval", "10000")
    altered = tools.run(CLIENT_METRICS, "--alter", "--name", "subscribed", *wanted)
    assert "Altered client metrics config for subscribed." in altered
    listed = tools.until(lambda: tools.run(CLIENT_METRICS, "--list"), lambda it: "subscribed" in it)
    assert listed.split() == ["subscribed"]
    described = tools.run(CLIENT_METRICS, "--describe", "--name", "subscribed")
    assert "interval.ms=10000" in described
    assert "metrics=org.apache.kafka.producer." in described

    tools.run(CLIENT_METRICS, "--delete", "--name", "subscribed")
    tools.until(lambda: tools.run(CLIENT_METRICS, "--list"), lambda it: not it.split())
