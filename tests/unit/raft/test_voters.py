"""Voters in the log (KIP-853): add, remove, update, one at a time; and back when truncated."""

import pytest

from barnabas_core.raft import NodeId, ReplicaKey, SnapshotId, SnapshotInfo, Voter, VoterSet
from barnabas_core.raft.identity import VersionRange
from barnabas_core.raft.message import (
    AddVoterRequest,
    Body,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpgradeVersionRequest,
    VersionsRequest,
    VersionsResponse,
    VoterChangeResponse,
)
from barnabas_core.raft.node import NodeSetup
from barnabas_core.raft.quorum import LocalReplica
from barnabas_core.raft.record import Batch, KRaftVersionChange, VotersChange
from barnabas_core.raft.timing import RaftConfig
from barnabas_core.raft.voter_history import VoterHistory
from barnabas_core.wire.error_code import ErrorCode
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore
from tests.support.raft_lab import Lab, endpoint, key


def voters(*ids: int) -> VoterSet:
    return VoterSet.of(Voter(key(one)) for one in ids)


def growing_lab(first: tuple[int, ...] = (1, 2, 3)) -> Lab:
    lab = Lab(first, spares=(4, 5), dynamic=True)
    if lab.state(first[0]) != "leader":
        lab.elect(first[0])
    lab.run(2_500)
    return lab


def ask(lab: Lab, request: Body, leader: int = 1) -> VoterChangeResponse | None:
    """The answer, once everyone has had a say; None if there is none yet."""
    lab.answers.clear()
    lab.ask(leader, request)
    lab.deliver()
    if not lab.answers:
        return None
    body = lab.answers[-1].body
    assert isinstance(body, VoterChangeResponse)
    return body


def error_of(answer: VoterChangeResponse | None) -> ErrorCode | None:
    return None if answer is None else answer.error


def add(node_id: int, **changes: object) -> AddVoterRequest:
    fields = {"correlation": 1, "voter": key(node_id), "endpoints": (), "timeout_ms": 5_000}
    return AddVoterRequest(**{**fields, **changes})  # type: ignore[arg-type]


def remove(node_id: int, disk: int = 1) -> RemoveVoterRequest:
    return RemoveVoterRequest(2, key(node_id, disk), 5_000)


def test_a_voter_is_added_and_everyone_knows() -> None:
    """KIP-853, AddRaftVoter: answered when committed."""
    lab = growing_lab()

    assert error_of(ask(lab, add(4))) is ErrorCode.NONE

    for node_id in (1, 2, 3, 4):
        assert lab[node_id].quorum.history.voters.ids == (1, 2, 3, 4)
    assert lab[4].quorum.is_voter


def test_a_leader_alone_for_long_leads_on_when_a_second_voter_comes() -> None:
    """Check-quorum: nobody had to fetch before, so the clock starts with the second voter."""
    lab = growing_lab((1,))
    epoch = lab[1].quorum.epoch
    lab.run(20_000)

    assert error_of(ask(lab, add(4))) is ErrorCode.NONE

    assert lab.state(1) == "leader"
    lab.run(5_000)
    assert (lab.state(1), lab[1].quorum.epoch) == ("leader", epoch)
    lab.cut(4)
    lab.run(5_000)
    assert lab.state(1) != "leader", "it does not count on a voter that is gone"


def test_a_new_voter_must_have_caught_up() -> None:
    """KIP-853: else it would hold commits up as soon as it counts."""
    lab = growing_lab()
    lab.crash(4)
    lab.append(1, "a")
    lab.run(3_000)

    assert error_of(ask(lab, add(4))) is ErrorCode.REQUEST_TIMED_OUT
    assert lab[1].quorum.history.voters.ids == (1, 2, 3)


def test_a_new_voter_must_run_the_kraft_version() -> None:
    """KIP-853: the leader asks it (ApiVersions) before it appends anything."""
    lab = growing_lab()
    lab.ask(1, add(4))
    (message,) = lab.sent(VersionsRequest)
    assert isinstance(message.body, VersionsRequest)

    lab.say(4, 1, VersionsResponse(message.body.correlation, key(4), VersionRange(0, 0)))

    (answer,) = lab.answers
    assert isinstance(answer.body, VoterChangeResponse)
    assert answer.body.error is ErrorCode.INVALID_REQUEST
    assert lab[1].quorum.history.voters.ids == (1, 2, 3)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (add(2), ErrorCode.DUPLICATE_VOTER),
        (add(2, voter=key(2, 9)), ErrorCode.DUPLICATE_VOTER),
        (add(4, voter=ReplicaKey(NodeId(4))), ErrorCode.INVALID_REQUEST),
        (remove(5), ErrorCode.VOTER_NOT_FOUND),
        (remove(3, disk=9), ErrorCode.VOTER_NOT_FOUND),
    ],
)
def test_changes_that_make_no_sense_are_refused(request_: Body, error: ErrorCode) -> None:
    """KIP-853: the errors of AddRaftVoter and RemoveRaftVoter."""
    lab = growing_lab()
    end_offset = lab.log(1).end_offset

    assert error_of(ask(lab, request_)) is error

    assert lab.log(1).end_offset == end_offset


def test_one_change_at_a_time() -> None:
    """KIP-853: no second change before the first is committed."""
    lab = growing_lab()
    lab.cut(1)
    lab.ask(1, remove(3))
    lab.answers.clear()

    lab.ask(1, remove(2))

    (answer,) = lab.answers
    assert isinstance(answer.body, VoterChangeResponse)
    assert answer.body.error is ErrorCode.REQUEST_TIMED_OUT
    assert lab[1].quorum.history.voters.ids == (1, 2)


def test_no_change_before_the_epoch_has_a_commit() -> None:
    """KIP-853: the leader's own first record comes first (an erratum to Raft's single changes)."""
    lab = growing_lab()
    lab.crash(1)
    lab.stand(2)
    while not (leading := [one for one in (2, 3) if lab.state(one) == "leader"]):
        if not lab.deliver_one():
            lab.pass_ms(5)

    lab.ask(leading[0], remove(1))

    (answer,) = lab.answers
    assert isinstance(answer.body, VoterChangeResponse)
    assert answer.body.error is ErrorCode.REQUEST_TIMED_OUT


def test_the_last_voter_stays() -> None:
    lab = growing_lab((1,))

    assert error_of(ask(lab, remove(1))) is ErrorCode.INVALID_REQUEST


def test_a_removed_leader_leads_until_that_is_committed() -> None:
    """KIP-853: it does not count itself, and resigns when the record is committed."""
    lab = growing_lab()
    lab.hold_disk(2)
    lab.hold_disk(3)
    assert ask(lab, remove(1)) is None
    assert lab.state(1) == "leader"
    lab.sync(2)
    lab.deliver()
    assert lab.state(1) == "leader", "node 2 is half of the voters that are left"

    lab.sync(3)
    lab.run(0)

    assert lab.state(1) == "resigned"
    assert lab[2].quorum.history.voters.ids == (2, 3)
    assert any(lab.state(one) == "leader" for one in (2, 3))


def test_two_voters_recover_from_a_removal_that_only_the_leader_has() -> None:
    """Raft thesis 4.2.2: the one with the longer log stands though it no longer votes."""
    lab = growing_lab((1, 2))
    lab.cut(2)
    lab.ask(1, remove(1))
    lab.crash(1)
    lab.join(2)
    lab.start(1)

    lab.run(10_000)

    assert lab.state(2) == "leader"
    assert lab[2].quorum.history.voters.ids == (2,)


def test_a_change_that_is_not_committed_in_time_says_so() -> None:
    lab = growing_lab()
    lab.cut(1)
    lab.ask(1, RemoveVoterRequest(1, key(3), 1_000))
    lab.answers.clear()

    lab.pass_ms(1_000)

    (answer,) = lab.answers
    assert isinstance(answer.body, VoterChangeResponse)
    assert answer.body.error is ErrorCode.REQUEST_TIMED_OUT


def test_lost_leadership_answers_a_pending_change() -> None:
    lab = growing_lab()
    lab.cut(1)
    lab.ask(1, RemoveVoterRequest(1, key(3), 60_000))
    lab.answers.clear()

    lab.pass_ms(3_100)  # check-quorum

    (answer,) = lab.answers
    assert isinstance(answer.body, VoterChangeResponse)
    assert answer.body.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_static_voters_are_not_changed() -> None:
    """KIP-853: kraft.version 0 has its voters from configuration."""
    lab = Lab()
    lab.elect(1)

    assert error_of(ask(lab, remove(3))) is ErrorCode.UNSUPPORTED_VERSION


def test_an_upgrade_brings_the_voters_into_the_log() -> None:
    """KIP-853: kraft.version and voters in one batch, with the directory ids seen in fetches."""
    lab = Lab()
    lab.elect(1)
    lab.run(600)

    assert error_of(ask(lab, UpgradeVersionRequest(1, 1, 5_000))) is ErrorCode.NONE

    assert lab[3].quorum.history.voters == voters(1, 2, 3)
    assert error_of(ask(lab, UpgradeVersionRequest(1, 1, 5_000))) is ErrorCode.NONE
    assert (
        error_of(ask(lab, UpgradeVersionRequest(1, 2, 5_000))) is ErrorCode.INVALID_UPDATE_VERSION
    )


def test_an_upgrade_needs_to_know_every_disk() -> None:
    lab = Lab()
    lab.crash(3)
    lab.elect(1)

    answer = ask(lab, UpgradeVersionRequest(1, 1, 5_000))

    assert error_of(answer) is ErrorCode.INVALID_UPDATE_VERSION
    assert lab[1].quorum.history.kraft_version == 0


def test_a_voter_that_moved_has_its_record_updated() -> None:
    """KIP-853, UpdateRaftVoter: sent by the follower when its endpoints differ from the record."""
    lab = growing_lab()
    bench = lab.benches[NodeId(3)]
    local = LocalReplica(key(3), endpoint(3))
    lab.crash(3)
    bench.setup = NodeSetup(local, bench.setup.membership, bench.setup.config)
    lab.start(3)

    lab.run(3_000)

    voter = lab[1].quorum.history.voters.get(NodeId(3))
    assert voter is not None
    assert voter.endpoints == endpoint(3)
    assert lab[1].endpoints_of(NodeId(3)) == endpoint(3)


def test_a_leader_that_moved_updates_its_own_record() -> None:
    """KIP-853: the leader of a quorum has nobody to send UpdateRaftVoter to."""
    lab = Lab((1,), dynamic=True)
    lab.run(2_500)
    bench = lab.benches[NodeId(1)]
    lab.crash(1)
    bench.setup = NodeSetup(
        LocalReplica(key(1), endpoint(1)), bench.setup.membership, bench.setup.config
    )
    lab.start(1)

    lab.run(3_000)

    assert lab.state(1) == "leader"
    assert lab[1].endpoints_of(NodeId(1)) == endpoint(1)


def test_an_update_from_a_stale_epoch_or_of_a_stranger_is_refused() -> None:
    """KIP-853: UpdateRaftVoter carries the leader epoch, and changes voters only."""
    lab = growing_lab()
    versions = VersionRange(0, 1)

    stale = UpdateVoterRequest(1, 0, key(3), endpoint(3), versions, 1_000)
    assert error_of(ask(lab, stale)) is ErrorCode.FENCED_LEADER_EPOCH
    stranger = UpdateVoterRequest(1, 1, key(4), endpoint(4), versions, 1_000)
    assert error_of(ask(lab, stranger)) is ErrorCode.VOTER_NOT_FOUND
    unable = UpdateVoterRequest(1, 1, key(3), endpoint(3), VersionRange(0, 0), 1_000)
    assert error_of(ask(lab, unable)) is ErrorCode.INVALID_REQUEST


def test_a_spare_joins_by_itself() -> None:
    """KIP-853 and `controller.quorum.auto.join.enable`."""
    config = RaftConfig(auto_join=True)
    lab = Lab((1,), spares=(2,), observers=(3,), dynamic=True, config=config)

    lab.run(8_000)

    assert lab[1].quorum.history.voters.ids == (1, 2)


def test_a_voter_set_counts_when_it_is_appended_and_not_when_it_is_cut_off_again() -> None:
    """KIP-853: uncommitted voters are used; truncation brings the older ones back."""
    history = VoterHistory(voters(1, 2, 3))
    seen = []
    history.replay(Batch(5, 1, 2, b"", (KRaftVersionChange(1), VotersChange(voters(1, 2)))))
    seen.append((history.kraft_version, history.voters.ids))
    history.replay(Batch(9, 2, 1, b"", (VotersChange(voters(1, 2, 4)),)))
    seen.append((history.kraft_version, history.voters.ids))

    for end_offset in (9, 5):
        history.truncate(end_offset)
        seen.append((history.kraft_version, history.voters.ids))

    assert seen == [(1, (1, 2)), (1, (1, 2, 4)), (1, (1, 2)), (0, (1, 2, 3))]


def test_a_snapshot_s_head_has_the_voters_of_its_offset() -> None:
    """KIP-853: not those of the log's end."""
    history = VoterHistory()
    history.reset(SnapshotInfo(SnapshotId(10, 1), 1, voters(1)))
    history.replay(Batch(12, 1, 1, b"", (VotersChange(voters(1, 2)),)))
    history.replay(Batch(15, 1, 1, b"", (VotersChange(voters(1, 2, 3)),)))

    assert history.at(12) == (1, voters(1))
    assert history.at(13) == (1, voters(1, 2))
    assert history.at(16) == (1, voters(1, 2, 3))

    history.delete_before(14)
    assert history.at(14) == (1, voters(1, 2))
    assert history.voters.ids == (1, 2, 3)


def test_a_snapshot_beside_the_records_it_stands_for_is_no_contradiction() -> None:
    """A crash after the snapshot and before the end of the records; found by the simulator."""
    log = MemoryLog(SnapshotStore())
    for offset, members in enumerate(((1,), (1, 2), (1, 2, 3))):
        log.append([Batch(offset, 1, 1, b"", (VotersChange(voters(*members)),))])
    log.add_snapshot(Snapshot(SnapshotInfo(SnapshotId(2, 1), 1, voters(1, 2)), b""))
    history = VoterHistory()

    history.load(log)

    assert history.at(2) == (1, voters(1, 2))
    assert history.voters.ids == (1, 2, 3)


def test_a_majority_is_more_than_half() -> None:
    sizes = {size: voters(*range(1, size + 1)).majority for size in range(1, 6)}

    assert sizes == {1: 1, 2: 2, 3: 2, 4: 3, 5: 3}
