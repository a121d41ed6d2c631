"""A broker with several log directories: replicas are spread, moved, and found again."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas_core.wire.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirsResponse,
)
from barnabas_core.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from barnabas_core.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse
from tests.support.controller_process import until
from tests.support.librdkafka import produce, read
from tests.support.raw_client import RawClient
from tests.support.serve_process import ServedNode

TOPIC = "spread"
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
VALUES = [b"value %d" % number for number in range(2_000)]

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={first},{second}
log.segment.bytes=1048576
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ServedNode]:
    node = ServedNode(tmp_path, 1)
    node.configure(
        PROPERTIES.format(
            port=node.port,
            controller_port=node.controller_port,
            first=tmp_path / "first",
            second=tmp_path / "second",
        )
    )
    node.format("--standalone")
    node.restart()
    yield node
    print(node.output())
    if node.is_running:
        node.kill()


def create(node: ServedNode, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": node.server})
    admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(30)


def places(node: ServedNode) -> dict[int, list[tuple[str, bool]]]:
    """(directory, is it a copy on its way) of each partition."""
    with RawClient(("127.0.0.1", node.port)) as client:
        answer = client.ask(DescribeLogDirsRequest(None), 5, DescribeLogDirsResponse)
    found: dict[int, list[tuple[str, bool]]] = {}
    for directory in answer.results:
        assert directory.error_code == 0
        for topic in directory.topics:
            for partition in topic.partitions:
                at = Path(directory.log_dir).name, partition.is_future_key
                found.setdefault(partition.partition_index, []).append(at)
    return found


def move(node: ServedNode, path: Path) -> ErrorCode:
    asked = AlterReplicaLogDir(str(path), [AlterReplicaLogDirTopic(TOPIC, [0])])
    with RawClient(("127.0.0.1", node.port)) as client:
        request = AlterReplicaLogDirsRequest([asked])
        answer = client.ask(request, 2, AlterReplicaLogDirsResponse)
    return ErrorCode(answer.results[0].partitions[0].error_code)


def other(name: str) -> str:
    return "second" if name == "first" else "first"


def test_partitions_are_spread_over_the_directories(node: ServedNode) -> None:
    create(node, 4)

    until(lambda: len(places(node)) == 4, "all partitions are there")

    found = [at for (at,) in places(node).values()]
    assert sorted(found) == [("first", False)] * 2 + [("second", False)] * 2


def test_a_replica_moves_while_it_is_written_to_and_is_there_after_a_crash(
    node: ServedNode, tmp_path: Path
) -> None:
    create(node, 1)
    produce(node.server, TOPIC, VALUES)
    ((before, _),) = places(node)[0]
    writing = threading.Thread(target=lambda: produce(node.server, TOPIC, VALUES))
    writing.start()

    assert move(node, tmp_path / other(before)) is ErrorCode.NONE

    writing.join()
    until(lambda: places(node)[0] == [(other(before), False)], "the replica has moved")
    assert [one.value() for one in read(node.server, TOPIC, 2 * len(VALUES))] == VALUES + VALUES
    node.kill()
    node.restart()
    assert places(node)[0] == [(other(before), False)]
    produce(node.server, TOPIC, VALUES)
    assert [one.value() for one in read(node.server, TOPIC, 3 * len(VALUES))] == 3 * VALUES


def throttle(node: ServedNode, rate: str | None) -> None:
    operation = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    entry = ConfigEntry(RATE, rate or "", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": node.server})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(30)


def test_a_throttled_move_waits_until_it_is_let_go(node: ServedNode, tmp_path: Path) -> None:
    create(node, 1)
    produce(node.server, TOPIC, VALUES)
    ((before, _),) = places(node)[0]
    throttle(node, "0")

    assert move(node, tmp_path / other(before)) is ErrorCode.NONE
    time.sleep(0.5)
    assert sorted(places(node)[0]) == sorted([(before, False), (other(before), True)])

    throttle(node, None)
    until(lambda: places(node)[0] == [(other(before), False)], "the replica has moved")


def test_a_directory_that_is_none_of_the_brokers_is_refused(node: ServedNode) -> None:
    create(node, 1)
    until(lambda: len(places(node)) == 1, "the partition is there")

    assert move(node, Path("/nowhere")) is ErrorCode.LOG_DIR_NOT_FOUND
