"""Quorums of real drivers on real disks."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas_core.ports.link import Address
from barnabas_core.raft import NodeId, NotLeader, ReplicaKey
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.message import AddVoterRequest, RemoveVoterRequest, UpgradeVersionRequest
from barnabas_core.wire.error_code import ErrorCode
from tests.support.quorum_lab import LabNode, QuorumLab, directory_id, endpoints_of, until

SMALL = {"segment_bytes": 4096, "snapshot_bytes": 8192, "retention_bytes": 0}
"""Segments and snapshots come and go all the time."""


def run(directory: Path, story: Callable[[QuorumLab], Awaitable[None]]) -> None:
    async def tell() -> None:
        async with QuorumLab(directory) as lab:
            await story(lab)

    asyncio.run(tell())


def test_a_single_node_commits_by_itself(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1)
        leader = await lab.leader()

        await leader.commit(b"one", b"two")
        await leader.commit(b"three")

        assert leader.listener.committed == [b"one", b"two", b"three"]

    run(tmp_path, story)


def test_three_nodes_agree(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()

        for number in range(50):
            leader.append(b"%d" % number)
        await lab.settle()

        wanted = [b"%d" % number for number in range(50)]
        assert [node.listener.committed for node in lab.running()] == [wanted] * 3
        assert len({node.driver.leader.leader_id for node in lab.running()}) == 1

    run(tmp_path, story)


def test_a_killed_leader_is_replaced_and_catches_up(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        first = await lab.leader()
        await first.commit(b"before")
        await first.kill()

        second = await lab.leader()
        await second.commit(b"meanwhile")
        await first.start()
        await lab.settle()

        assert second is not first
        assert first.listener.committed == [b"before", b"meanwhile"]
        assert first.driver.leader.epoch == second.driver.leader.epoch

    run(tmp_path, story)


def test_a_clean_stop_hands_leadership_over(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        first = await lab.leader()
        await first.commit(b"before")
        epoch = first.driver.leader.epoch

        await first.stop()
        second = await lab.leader()

        assert first.listener.active_epoch is None
        assert second.driver.leader.epoch == epoch + 1
        await second.commit(b"after")
        assert second.listener.committed == [b"before", b"after"]

    run(tmp_path, story)


def test_a_leader_that_resigned_is_known_as_the_last_one(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()
        for node in lab.running():
            if node is not leader:
                await node.kill()

        await until(lambda: leader.driver.leader.leader_id is None, "the majority is missed")

        assert leader.driver.last_leader_id == leader.config.node_id

    run(tmp_path, story)


def test_records_of_a_node_that_does_not_lead_are_refused(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()
        epoch = leader.driver.leader.epoch
        follower = next(node for node in lab.running() if node is not leader)

        with pytest.raises(NotLeader):
            follower.driver.append(epoch, [[b"mine"]], 1)
        with pytest.raises(NotLeader):
            leader.driver.append(epoch - 1, [[b"made before"]], 1)

    run(tmp_path, story)


def test_a_tail_that_nobody_else_has_is_cut_off(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        first = await lab.leader()
        await first.commit(b"kept")
        await lab.settle()
        others = [node for node in lab.running() if node is not first]
        for node in others:
            await node.kill()
        first.append(b"lost", b"lost too")
        end_offset = first.driver.end_offset
        await until(lambda: _durable_end(first) == end_offset, "it is on the disk")
        await first.kill()

        for node in others:
            await node.start()
        second = await lab.leader()
        await second.commit(b"new")
        await first.start()
        await lab.settle()

        assert first.listener.committed == [b"kept", b"new"]

    run(tmp_path, story)


def _durable_end(node: LabNode) -> int:
    return node.driver.node.quorum.outbox.durable_end_offset


async def fill(leader: LabNode, count: int) -> list[bytes]:
    """Commit that many records, a few at a time."""
    values = [b"%d" % number * 20 for number in range(count)]
    for start in range(0, count, 10):
        leader.append(*values[start : start + 10])
        await asyncio.sleep(0)
        if start % 100 == 0:
            end_offset = leader.driver.end_offset
            await leader.until_committed(end_offset)
    return values


def test_an_empty_node_loads_a_snapshot_and_goes_on(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, settings=SMALL)
        leader = await lab.leader()
        values = await fill(leader, 2000)
        await until(lambda: leader.driver.committed_log.log_start_offset > 0, "the start moved")

        server = Address(leader.config.endpoints[0].host, leader.config.endpoints[0].port)
        empty = lab.add(2, settings={"bootstrap_servers": (server,), **SMALL})
        await empty.start()
        await lab.settle()
        await leader.commit(b"last")
        await lab.settle()

        assert empty.listener.loaded
        assert empty.listener.committed == [*values, b"last"]
        assert empty.driver.committed_log.log_start_offset > 0

    run(tmp_path, story)


def test_a_node_restarts_from_its_snapshot(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, settings=SMALL)
        leader = await lab.leader()
        values = await fill(leader, 1000)
        await leader.commit(b"last")
        await leader.kill()

        await leader.start()
        await lab.leader()

        assert leader.listener.committed == [*values, b"last"]
        assert leader.listener.loaded[-1].end_offset > 0
        assert leader.listener.batch_count < 100

    run(tmp_path, story)


def test_old_segments_and_snapshots_go_and_the_last_snapshot_stays(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        settings = {**SMALL, "file_delete_delay_ms": 0}
        await lab.start(1, settings=settings)
        leader = await lab.leader()
        await fill(leader, 3000)
        log = leader.driver.committed_log
        await until(lambda: log.log_start_offset > 2000, "the start moved")
        await leader.commit(b"last")
        await leader.stop()

        bases = sorted(int(path.stem) for path in leader.path.glob("*.log"))
        snapshots = sorted(int(path.name[:20]) for path in leader.path.glob("*.checkpoint"))
        assert bases[0] > 1500
        assert 1 <= len(snapshots) <= 3
        assert snapshots[0] >= bases[0]

    run(tmp_path, story)


def test_a_snapshot_comes_with_time_where_little_is_written(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, settings={"snapshot_interval_ms": 100})
        leader = await lab.leader()
        end_offset = await leader.commit(b"little")
        log = leader.driver.committed_log

        await until(lambda: (log.latest_snapshot() or (0, 0))[0] >= end_offset, "a snapshot")

    run(tmp_path, story)


def test_standbys_take_snapshots_too(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3, settings=SMALL)
        await fill(await lab.leader(), 1000)
        await lab.settle()

        def newest(node: LabNode) -> int:
            return (node.driver.committed_log.latest_snapshot() or (0, 0))[0]

        await until(lambda: all(map(newest, lab.running())), "everyone has a snapshot")

    run(tmp_path, story)


def add_request(node_id: int, disk: int = 1) -> AddVoterRequest:
    voter = ReplicaKey(NodeId(node_id), directory_id(node_id, disk))
    return AddVoterRequest(0, voter, endpoints_of(node_id), 2_000)


async def grow(lab: QuorumLab, node_id: int, disk: int = 1) -> None:
    leader = await lab.leader()
    server = Address(leader.config.endpoints[0].host, leader.config.endpoints[0].port)
    node = lab.add(node_id, disk=disk, settings={"bootstrap_servers": (server,)})
    await node.start()
    await lab.settle()
    error = ErrorCode.REQUEST_TIMED_OUT
    while error is ErrorCode.REQUEST_TIMED_OUT:  # it has to be seen caught up first
        await asyncio.sleep(0.01)
        error = (await leader.driver.admin(add_request(node_id, disk))).error
    assert error is ErrorCode.NONE


def test_voters_are_added_and_removed_while_records_come(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1)
        await (await lab.leader()).commit(b"one")
        await grow(lab, 2)
        await (await lab.leader()).commit(b"two")
        await grow(lab, 3)
        await (await lab.leader()).commit(b"three")
        await lab.settle()

        first = lab[1]
        request = RemoveVoterRequest(0, ReplicaKey(NodeId(1), directory_id(1)), 2_000)
        assert (await first.driver.admin(request)).error is ErrorCode.NONE
        await first.stop()
        leader = await lab.leader()
        await leader.commit(b"four")
        await lab.settle()

        assert leader is not first
        assert leader.driver.node.quorum.history.voters.ids == (2, 3)
        wanted = [b"one", b"two", b"three", b"four"]
        assert [node.listener.committed for node in lab.running()] == [wanted] * 2

    run(tmp_path, story)


def test_a_node_that_lost_its_disk_is_replaced(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        await (await lab.leader()).commit(b"one")
        lost = next(node for node in lab.running() if not node.driver.is_active)
        node_id = lost.config.node_id
        await lost.kill()
        leader = await lab.leader()
        request = RemoveVoterRequest(0, ReplicaKey(NodeId(node_id), directory_id(node_id)), 2_000)
        assert (await leader.driver.admin(request)).error is ErrorCode.NONE

        await grow(lab, node_id, disk=2)
        await leader.commit(b"two")
        await lab.settle()

        assert lab[node_id].listener.committed == [b"one", b"two"]
        voter = leader.driver.node.quorum.history.voters.get(NodeId(node_id))
        assert voter is not None
        assert voter.key.directory_id == directory_id(node_id, 2)

    run(tmp_path, story)


def test_static_voters_become_voters_in_the_log(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3, dynamic=False)
        leader = await lab.leader()
        await leader.commit(b"one")
        await lab.settle()

        answer = await leader.driver.admin(UpgradeVersionRequest(0, 1, 2_000))
        await lab.settle()

        assert answer.error is ErrorCode.NONE
        for node in lab.running():
            assert node.driver.node.quorum.history.kraft_version == 1
        await leader.kill()
        await leader.start()
        await lab.settle()
        assert leader.driver.node.quorum.history.kraft_version == 1

    run(tmp_path, story)


def test_a_change_of_voters_is_answered_by_who_does_not_lead(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()
        follower = next(node for node in lab.running() if node is not leader)
        await until(lambda: follower.driver.leader.leader_id is not None, "it follows")

        answer = await follower.driver.admin(add_request(9))

        assert answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert answer.news.leader_id == leader.config.node_id

    run(tmp_path, story)


def test_a_node_that_moved_is_found_at_its_new_address(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()
        await leader.commit(b"one")
        mover = next(node for node in lab.running() if node is not leader)
        await mover.kill()
        node_id = mover.config.node_id
        moved = lab.add(node_id, settings={"endpoints": (Endpoint("CONTROLLER", "moved", 9093),)})
        await moved.start()

        node = leader.driver.node
        await until(
            lambda: node.endpoints_of(NodeId(node_id)) == moved.config.endpoints,
            "its record is up to date",
        )

    run(tmp_path, story)


def test_a_description_names_everyone_in_wall_time(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1, 2, 3)
        leader = await lab.leader()
        await leader.commit(b"one")
        await lab.settle()
        follower = next(node for node in lab.running() if node is not leader)
        assert follower.driver.describe() is None

        found = leader.driver.describe()

        assert found is not None
        assert [status.replica.node_id for status in found.voters] == [1, 2, 3]
        now_ms = lab.clock.now_ms()
        for status in found.voters:
            assert now_ms - 60_000 < status.last_fetch_at_ms <= now_ms

    run(tmp_path, story)


def test_the_committed_log_can_be_followed(tmp_path: Path) -> None:
    async def story(lab: QuorumLab) -> None:
        await lab.start(1)
        leader = await lab.leader()
        log = leader.driver.committed_log
        end_offset = leader.driver.end_offset
        waiting = asyncio.ensure_future(log.wait_beyond(end_offset))
        await asyncio.sleep(0)
        assert not waiting.done()

        await leader.commit(b"news")

        await waiting
        assert log.high_watermark == end_offset + 1
        assert b"news" in bytes(log.read(end_offset, 1 << 20))
        assert log.read(end_offset + 1, 1 << 20) == b""

    run(tmp_path, story)
