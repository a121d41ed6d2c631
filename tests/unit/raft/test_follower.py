"""Following: fetch positions as promises, divergence, snapshots, observers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft import NodeId, RaftConfig, SnapshotId, SnapshotInfo, SnapshotTaken
from barnabas_core.raft.message import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Message,
)
from barnabas_core.raft.raft_log import Diverging, EpochEnd, Missing, Valid, locate
from barnabas_core.raft.record import Batch
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.error_code import ErrorCode
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore
from tests.support.raft_lab import Lab, key


def log_of(*epochs: int) -> MemoryLog:
    log = MemoryLog(SnapshotStore())
    log.append([Batch(offset, epoch, 1) for offset, epoch in enumerate(epochs)])
    return log


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (0, 0, Valid()),
        (2, 1, Valid()),
        (3, 1, Diverging(EpochEnd(1, 2))),
        (4, 3, Valid()),
        (3, 2, Diverging(EpochEnd(1, 2))),
        (7, 5, Diverging(EpochEnd(5, 6))),
        (9, 9, Diverging(EpochEnd(5, 6))),
        (1, 0, Diverging(EpochEnd(0, 0))),
    ],
)
def test_where_a_log_parts_from_the_leader_s(
    offset: int, epoch: int, expected: Valid | Diverging
) -> None:
    """KIP-595 (KIP-101, KIP-279): by the epoch of the last record, not by the offset."""
    assert locate(log_of(1, 1, 3, 3, 5, 5), offset, epoch) == expected


def test_the_snapshot_of_formatting_stands_for_no_records() -> None:
    """A log that starts at 0 can always be compared; found by the simulator."""
    log = log_of(2, 2)
    log.add_snapshot(Snapshot(SnapshotInfo(SnapshotId(0, 0), 1), b""))

    assert locate(log, 1, 1) == Diverging(EpochEnd(0, 0))


def test_a_follower_fetches_only_what_comes_after_what_it_has_on_disk() -> None:
    """KIP-595: the fetch offset is what the leader counts."""
    lab = Lab()
    lab.elect(1)
    lab.cut(3)
    lab.hold_disk(2)
    lab.append(1, "a")
    lab.deliver()

    assert lab.log(2).end_offset == 2
    assert not lab.sent(FetchRequest)
    assert lab[1].quorum.high_watermark == 1

    lab.sync(2)
    (message,) = lab.sent(FetchRequest)
    assert isinstance(message.body, FetchRequest)
    assert message.body.fetch_offset == 2


def test_a_follower_never_truncates_what_it_knows_is_committed() -> None:
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    lab.deliver()
    lab.append(1, "b")
    (response,) = lab.sent(FetchResponse, 2)
    lab.drop()
    assert isinstance(response.body, FetchResponse)
    bad = FetchResponse(
        response.body.correlation,
        ErrorCode.NONE,
        lab[1].quorum.news(),
        2,
        diverging=EpochEnd(1, 1),
    )

    with pytest.raises(AssertionError, match="committed"):
        lab.step(2, Message(NodeId(1), NodeId(2), bad))


def test_records_that_do_not_follow_are_not_taken() -> None:
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    (response,) = lab.sent(FetchResponse, 2)
    lab.drop()
    assert isinstance(response.body, FetchResponse)
    news = lab[1].quorum.news()
    gap = (Batch(5, 1, 1, b"x"),)
    bad = FetchResponse(response.body.correlation, ErrorCode.NONE, news, 2, gap)

    lab.step(2, Message(NodeId(1), NodeId(2), bad))

    assert lab.log(2).end_offset == 1
    assert lab.state(2) == "follower"


def test_an_answer_to_a_forgotten_request_is_dropped() -> None:
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    (response,) = lab.sent(FetchResponse, 2)
    lab.drop()
    lab.pass_ms(2_000)  # the request has timed out

    lab.step(2, response)

    assert lab.log(2).end_offset == 1


def test_a_follower_that_hears_nothing_stands() -> None:
    """KIP-595: after the fetch timeout, and what its chance adds."""
    lab = Lab()
    lab.elect(1)
    lab.cut(1)

    lab.pass_ms(2_019)
    assert lab.state(2) == "follower"
    lab.pass_ms(1)

    assert lab.state(2) == "prospective"


def test_two_followers_do_not_miss_their_leader_at_the_same_moment() -> None:
    """They would stand for the same epoch, and each have its own vote."""
    lab = Lab()
    lab.elect(1)
    lab.cut(1)

    lab.pass_ms(2_020)
    assert (lab.state(2), lab.state(3)) == ("prospective", "follower")
    lab.run(10)

    assert lab.state(3) == "leader"
    assert lab[3].quorum.epoch == 2


@given(seed=st.integers(0, 2**32), timeout_ms=st.integers(0, 10_000))
def test_a_leader_is_missed_after_the_fetch_timeout_and_before_it_misses_its_followers(
    seed: int, timeout_ms: int
) -> None:
    """Check-quorum is the later of the two: a leader resigns when others may lead already."""
    lab = Lab(config=RaftConfig(fetch_timeout_ms=timeout_ms))
    quorum = lab[2].quorum
    quorum.rng = SeededRng(seed)

    wait_ms = quorum.fetch_timeout_at_ms() - quorum.now_ms

    assert timeout_ms <= wait_ms <= timeout_ms * 5 // 4
    assert wait_ms <= lab.config.check_quorum_timeout_ms


@pytest.mark.parametrize("heard_at_ms", [0, 700])
def test_the_moment_is_drawn_anew_whenever_the_leader_is_heard(heard_at_ms: int) -> None:
    lab = Lab()
    lab.elect(1)
    lab.pass_ms(heard_at_ms)
    lab[2].quorum.rng = SeededRng(1)
    expected_ms = lab.now_ms + 2_000 + SeededRng(1).randrange(500)

    lab.append(1, "a")
    lab.in_flight = lab.sent(FetchResponse, 2)
    lab.deliver_one()

    assert lab[2].quorum.state.election_deadline_ms() == expected_ms


def test_an_observer_finds_the_leader_and_gets_everything() -> None:
    """KIP-595: it asks anyone it knows, and is not counted for a majority."""
    lab = Lab(observers=(4,))
    lab.elect(1)
    for payload in "abc":
        lab.append(1, payload)
    lab.run(3_000)

    assert lab.benches[NodeId(4)].committed == [b"a", b"b", b"c"]
    assert lab.state(4) == "follower"

    for node_id in (2, 3):
        lab.crash(node_id)
    end_offset = lab.append(1, "d")
    lab.deliver()
    assert lab[1].quorum.high_watermark < end_offset


def lab_with_snapshot() -> Lab:
    lab = Lab()
    lab.crash(3)
    lab.elect(1)
    for payload in "abcdef":
        lab.append(1, payload)
    lab.deliver()
    lab.take_snapshot(1)
    return lab


def test_who_is_behind_the_log_start_loads_the_snapshot() -> None:
    """KIP-630: Fetch names the snapshot, FetchSnapshot brings it, Fetch goes on after it."""
    lab = lab_with_snapshot()
    assert isinstance(locate(lab.log(1), 0, 0), Missing)

    lab.start(3)
    lab.deliver()
    end_offset = lab.append(1, "g")
    lab.deliver()

    assert lab.log(3).start_offset == 7
    assert lab[3].quorum.high_watermark == end_offset
    assert lab.benches[NodeId(3)].committed == [b"g"]


def test_a_snapshot_that_is_gone_is_not_waited_for() -> None:
    """KIP-630: SNAPSHOT_NOT_FOUND sends the follower back to Fetch."""
    lab = lab_with_snapshot()
    lab.start(3)
    while not lab.sent(FetchSnapshotRequest):
        assert lab.deliver_one()
    lab.append(1, "g")
    lab.deliver_one()
    lab.deliver_one()
    lab.in_flight.sort(key=lambda message: isinstance(message.body, FetchSnapshotRequest))
    while lab.in_flight and not isinstance(lab.in_flight[0].body, FetchSnapshotRequest):
        lab.deliver_one()
    newer = lab.take_snapshot(1)

    lab.run(1_000)

    assert lab.log(3).snapshot() is not None
    assert lab[3].quorum.high_watermark == newer.end_offset


@pytest.mark.parametrize(
    ("snapshot_id", "position", "error"),
    [
        (SnapshotId(7, 1), 0, ErrorCode.NONE),
        (SnapshotId(7, 1), 1_000, ErrorCode.POSITION_OUT_OF_RANGE),
        (SnapshotId(7, 1), -1, ErrorCode.POSITION_OUT_OF_RANGE),
        (SnapshotId(6, 1), 0, ErrorCode.SNAPSHOT_NOT_FOUND),
    ],
)
def test_what_the_leader_says_to_a_snapshot_fetch(
    snapshot_id: SnapshotId, position: int, error: ErrorCode
) -> None:
    """KIP-630: FetchSnapshot's errors."""
    lab = lab_with_snapshot()
    lab.drop()

    lab.say(3, 1, FetchSnapshotRequest(5, 1, key(3), snapshot_id, position, 100))

    (message,) = lab.sent(FetchSnapshotResponse)
    assert isinstance(message.body, FetchSnapshotResponse)
    assert message.body.error is error


def test_a_snapshot_of_what_is_not_committed_is_refused() -> None:
    lab = Lab()
    lab.elect(1)
    lab.cut(1)
    lab.append(1, "a")

    with pytest.raises(ValueError, match="beyond what is committed"):
        lab[1].step(SnapshotTaken(SnapshotId(2, 1)))

    assert lab.log(1).start_offset == 0


def test_a_download_keeps_the_leader_believed_in() -> None:
    """KIP-630: FetchSnapshot answers reset the fetch timer, and count for check-quorum."""
    lab = lab_with_snapshot()
    lab.cut(2)
    lab.start(3)
    lab.run(10_000)

    assert lab.state(1) == "leader"
    assert lab.state(3) == "follower"
