"""Leading: commit, check-quorum, hand-over, and what is asked of a node that does not lead."""

import pytest

from barnabas_core.raft import Message, NodeId, NotLeader, Persisted, ReplicaKey, Resign
from barnabas_core.raft.message import (
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
)
from barnabas_core.raft.record import LeaderChange
from barnabas_core.wire.error_code import ErrorCode
from tests.support.raft_lab import Lab, key


def fetch(replica: int, epoch: int, offset: int, last_epoch: int) -> FetchRequest:
    return FetchRequest(99, epoch, key(replica), offset, last_epoch, 0, 500, 1 << 20)


def answer_to(lab: Lab, replica: int, leader: int, request: FetchRequest) -> FetchResponse:
    lab.drop()
    lab.say(replica, leader, request)
    body = lab.sent(FetchResponse, replica)[-1].body
    assert isinstance(body, FetchResponse)
    return body


def test_an_epoch_starts_with_a_leader_change_record() -> None:
    """KIP-595: the leader's first record of its epoch is a control record."""
    lab = Lab()

    lab.elect(2)

    (batch,) = lab.log(2).read(0, 1000)
    assert batch.epoch == 1
    voters = tuple(ReplicaKey(NodeId(one)) for one in (1, 2, 3))
    assert batch.controls == (LeaderChange(NodeId(2), voters, voters[1:]),)


def test_records_of_older_epochs_are_committed_only_with_one_of_the_leader_s_own() -> None:
    """Raft 5.4.2, KIP-595: the high watermark waits for the epoch's first record."""
    lab = Lab()
    lab.elect(1)
    lab.cut(3)
    lab.append(1, "a")
    lab.deliver_one()  # node 2 has it, node 1 does not know
    lab.drop()
    lab.crash(1)
    lab.join(3)
    for node_id in (2, 3):
        lab.stand(node_id)
    while lab.state(2) != "leader":
        if not lab.deliver_one():
            lab.pass_ms(5)
    lab.drop()
    end_of_older = lab.log(2).end_offset - 1

    lab.say(3, 2, fetch(3, lab[2].quorum.epoch, end_of_older, 1))
    assert lab[2].quorum.high_watermark < end_of_older

    lab.say(3, 2, fetch(3, lab[2].quorum.epoch, end_of_older + 1, lab[2].quorum.epoch))
    assert lab[2].quorum.high_watermark == end_of_older + 1


def test_what_is_not_on_the_leader_s_disk_is_not_counted_for_it() -> None:
    """The leader's own share of the majority waits for `Persisted`."""
    lab = Lab()
    lab.elect(1)
    lab.cut(3)
    lab.hold_disk(1)
    end_offset = lab.append(1, "a")
    lab.deliver()
    assert lab[1].quorum.high_watermark < end_offset

    lab.sync(1)

    assert lab[1].quorum.high_watermark == end_offset


def test_a_leader_without_its_majority_resigns() -> None:
    """KIP-595/KIP-996, check-quorum: after 1.5 times the fetch timeout without fetches."""
    lab = Lab()
    lab.elect(1)
    lab.cut(1)

    lab.pass_ms(2_900)
    assert lab.state(1) == "leader"
    lab.pass_ms(200)

    assert lab.state(1) == "resigned"


def test_a_leader_with_one_other_of_three_stays() -> None:
    """Check-quorum asks for a majority, not for everyone."""
    lab = Lab()
    lab.elect(1)
    lab.cut(3)

    lab.run(30_000)

    assert lab.state(1) == "leader"


def test_a_leader_tells_voters_that_do_not_fetch() -> None:
    """KIP-595, BeginQuorumEpoch: again and again to those that are silent, never to the others."""
    lab = Lab()
    lab.elect(1)
    lab.crash(3)
    lines: list[str] = []
    lab.tell = lines.append

    lab.run(2_900)

    told = [line for line in lines if "BeginQuorumEpoch" in line]
    assert set(told) == {"1 -> 3 BeginQuorumEpoch epoch=1"}


def test_the_successor_with_the_longest_log_comes_first() -> None:
    """KIP-595, EndQuorumEpoch: preferred successors, by how far they are."""
    lab = Lab((1, 2, 3, 4, 5))
    lab.elect(1)
    lab.drop()
    for node_id, offset in ((3, 1), (5, 1)):
        lab.say(node_id, 1, fetch(node_id, 1, offset, 1))
    lab.append(1, "a")
    lab.drop()
    lab.say(5, 1, fetch(5, 1, 2, 1))
    lab.drop()

    lab[1].step(Resign(1))
    lab.pump(1)

    body = lab.sent(EndQuorumEpochRequest)[0].body
    assert isinstance(body, EndQuorumEpochRequest)
    assert body.successors[0].node_id == 5


def test_a_clean_hand_over_waits_for_no_timeout() -> None:
    """KIP-595: the first successor stands at once."""
    lab = Lab()
    lab.elect(1)
    before_ms = lab.now_ms

    lab[1].step(Resign(1))
    lab.pump(1)
    lab.deliver()

    assert lab.state(2) == "leader"
    assert lab.now_ms == before_ms


def test_resigning_from_another_epoch_is_nothing() -> None:
    lab = Lab()
    lab.elect(1)

    lab[1].step(Resign(0))

    assert lab.state(1) == "leader"


def test_only_the_leader_of_the_epoch_takes_records() -> None:
    lab = Lab()
    lab.elect(1)

    with pytest.raises(NotLeader):
        lab[2].append(1, [(b"a", 1)])
    with pytest.raises(NotLeader):
        lab[1].append(0, [(b"a", 1)])
    with pytest.raises(ValueError, match="has records"):
        lab[1].append(1, [(b"a", 0)])

    assert lab.log(1).end_offset == 1


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_fetch_of_another_epoch_is_refused(epoch: int, error: ErrorCode) -> None:
    """KIP-595, Fetch: and it does not raise the leader's epoch."""
    lab = Lab()
    lab.elect(1)

    response = answer_to(lab, 2, 1, fetch(2, epoch, 1, 1))

    assert response.error is error
    assert lab[1].quorum.epoch == 1
    assert lab.state(1) == "leader"


def test_a_fetch_from_a_follower_is_sent_to_the_leader() -> None:
    """KIP-595: NOT_LEADER_OR_FOLLOWER, with the leader's id."""
    lab = Lab()
    lab.elect(1)

    response = answer_to(lab, 3, 2, fetch(3, 1, 1, 1))

    assert response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert response.news.leader_id == 1


def test_a_fetch_waits_for_news_but_not_for_ever() -> None:
    """KIP-595: up to the max wait; a new high watermark is news too (KIP-1166)."""
    lab = Lab()
    lab.elect(1)
    lab.drop()
    high_watermark = lab[1].quorum.high_watermark
    request = FetchRequest(99, 1, key(2), 1, 1, high_watermark, 500, 1 << 20)
    lab.say(2, 1, request)
    assert not lab.sent(FetchResponse, 2)

    lab.pass_ms(499)
    assert not lab.sent(FetchResponse, 2)
    lab.pass_ms(1)

    assert lab.sent(FetchResponse, 2)


def test_time_and_disk_reports_must_make_sense() -> None:
    lab = Lab()
    epoch = lab[1].quorum.epoch

    with pytest.raises(ValueError, match="time went back"):
        lab[1].tick(lab.now_ms - 1)
    with pytest.raises(ValueError, match="sequence"):
        lab[1].step(Persisted(1_000))

    assert lab[1].quorum.epoch == epoch


def test_what_is_not_meant_for_the_node_is_not_taken() -> None:
    lab = Lab()
    request = fetch(2, 1, 1, 1)

    with pytest.raises(ValueError, match="a message for node 3"):
        lab[1].step(Message(NodeId(2), NodeId(3), request))
    with pytest.raises(AssertionError):
        lab[1].step(request)  # type: ignore[arg-type]

    assert not lab[1].has_ready


def test_the_quorum_is_described_as_the_leader_knows_it() -> None:
    """KIP-836, DescribeQuorum: positions and times of voters and observers."""
    lab = Lab(observers=(4,))
    lab.elect(1)
    lab.append(1, "a")
    lab.run(3_000)

    description = lab[1].describe()

    assert description is not None
    assert (description.leader_id, description.epoch, description.high_watermark) == (1, 1, 2)
    assert [status.replica.node_id for status in description.voters] == [1, 2, 3]
    assert [status.end_offset for status in description.voters] == [2, 2, 2]
    assert [status.replica for status in description.observers] == [key(4)]
    assert lab.now_ms - description.voters[1].last_fetch_at_ms < 1_000
    assert lab[2].describe() is None
