"""Replicas' directories, told to a controller."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

from barnabas_broker.directory_assignment import (
    AssignmentParts,
    DirectoryAssignment,
    assigned_directory,
    may_be_offline,
)
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.ports import DiskError
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address, Call, Caller, Identity, Loss, Purpose
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
)
from barnabas_core.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from tests.support.cluster_image import broker, replayed, topic
from tests.support.storage_bench import TOPIC_ID, StorageBench, play

ADDRESS = Address("controller", 1)
LOST, UNASSIGNED = bytes(15) + b"\x01", bytes(16)


class Controller:
    """Takes assignments, after the errors it was told to give."""

    def __init__(self) -> None:
        self.errors: list[ErrorCode] = []
        self.partition_error = ErrorCode.NONE
        self.assigned: dict[tuple[bytes, int], bytes] = {}
        self.call_count = 0
        self.senders: set[tuple[int, int]] = set()

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        self.call_count += 1
        request = decode(AssignReplicasToDirsRequest, call.api_version, bytes(call.body))
        self.senders.add((request.broker_id, request.broker_epoch))
        if self.errors:
            refused = AssignReplicasToDirsResponse(error_code=self.errors.pop(0))
            return encode(refused, call.api_version)
        for directory in request.directories:
            for one in directory.topics:
                for partition in one.partitions:
                    self.assigned[one.topic_id, partition.partition_index] = directory.id
        answer = AssignReplicasToDirsResponse(
            directories=[
                DirectoryData(
                    directory.id,
                    [
                        TopicData(
                            one.topic_id,
                            [
                                PartitionData(it.partition_index, self.partition_error)
                                for it in one.partitions
                            ],
                        )
                        for one in directory.topics
                    ],
                )
                for directory in request.directories
            ]
        )
        return encode(answer, call.api_version)

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        pass


Scenario = Callable[[StorageBench, DirectoryAssignment, Controller], Awaitable[None]]


def with_controller(scenario: Scenario, *paths: Path) -> None:
    async def scene(bench: StorageBench) -> None:
        controller, log = Controller(), EventLog(stream=io.StringIO())
        links = LocalLinks(LocalNetwork(log), Identity("c", 1, "broker"), bench.clock, log)
        server = await links.serve(ADDRESS, {Purpose.MEMBERSHIP: controller})
        client = ControllerClient(links, [ADDRESS], Purpose.MEMBERSHIP, bench.clock)
        parts = AssignmentParts(client, bench.clock, log, 1, lambda: 42)
        assignment = DirectoryAssignment(parts, bench.storage.logs)
        supervisor = Supervisor(log)
        supervisor.start("assignment", assignment.run)
        try:
            async with asyncio.timeout(30):
                await scenario(bench, assignment, controller)
        finally:
            await supervisor.stop()
            await client.close()
            await server.close()

    play(scene, *paths)


async def until_told(assignment: DirectoryAssignment) -> None:
    while len(assignment):  # noqa: ASYNC110  nobody is told
        await asyncio.sleep(0.01)


def test_replicas_without_a_directory_are_reported_with_the_one_they_lie_in(
    tmp_path: Path,
) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        await bench.keep("a")
        await bench.keep("a", 1)
        delta, image = replayed([broker(), *topic("a", TOPIC_ID, [(1,), (1,), (2,)])])

        assignment.apply(delta, image)
        await until_told(assignment)

        first, second = bench.storage.logs.directories
        assert controller.assigned == {(TOPIC_ID, 0): first.id, (TOPIC_ID, 1): second.id}
        assert controller.call_count == 1
        assert controller.senders == {(1, 42)}

    with_controller(scenario, tmp_path / "1", tmp_path / "2")


def test_replicas_where_the_metadata_have_them_are_not_reported(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        await bench.keep("a")
        records = topic("a", TOPIC_ID)
        records[1].directories = [bench.storage.logs.directories[0].id]  # type: ignore[attr-defined]
        delta, image = replayed([broker(), *records])

        assignment.apply(delta, image)

        assert len(assignment) == 0

    with_controller(scenario, tmp_path)


def test_a_controller_that_refuses_is_asked_again(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        controller.errors = [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH]

        assignment.report(TOPIC_ID, 0, b"d" * 16)
        await until_told(assignment)

        assert controller.call_count == 3
        assert controller.assigned == {(TOPIC_ID, 0): b"d" * 16}

    with_controller(scenario, tmp_path)


def test_who_waits_for_an_assignment_is_told(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        controller.errors = [ErrorCode.NOT_CONTROLLER]

        await assignment.assign(TOPIC_ID, 0, b"d" * 16)

        assert controller.assigned == {(TOPIC_ID, 0): b"d" * 16}

    with_controller(scenario, tmp_path)


def test_a_replica_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        controller.partition_error = ErrorCode.UNKNOWN_TOPIC_ID

        assignment.report(TOPIC_ID, 0, b"d" * 16)
        await until_told(assignment)

        assert controller.call_count == 1

    with_controller(scenario, tmp_path)


def test_metadata_without_room_for_directories_are_left_alone(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        controller.errors = [ErrorCode.UNSUPPORTED_VERSION]

        assignment.report(TOPIC_ID, 0, b"d" * 16)
        await until_told(assignment)

        assert controller.call_count == 1
        assert controller.assigned == {}

    with_controller(scenario, tmp_path)


def test_many_replicas_go_in_several_requests(tmp_path: Path) -> None:
    async def scenario(
        bench: StorageBench, assignment: DirectoryAssignment, controller: Controller
    ) -> None:
        for index in range(4_500):
            assignment.report(TOPIC_ID, index, b"d" * 16)
        await until_told(assignment)

        assert controller.call_count == 3
        assert len(controller.assigned) == 4_500

    with_controller(scenario, tmp_path)


def test_a_replica_may_lie_in_a_directory_that_failed(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        directories = bench.storage.logs.directories
        first, second = directories
        assert assigned_directory(directories, second.id) is second
        assert not may_be_offline(directories, b"?" * 16), "all directories are here"

        bench.storage.fail(DiskError(second.path, "broken"))

        assert assigned_directory(directories, second.id) is None
        assert may_be_offline(directories, second.id)
        assert may_be_offline(directories, b"?" * 16)
        assert not may_be_offline(directories, first.id)
        assert not may_be_offline(directories, UNASSIGNED)
        assert not may_be_offline(directories, LOST)

    play(scenario, tmp_path / "1", tmp_path / "2")
