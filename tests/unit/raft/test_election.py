"""Elections: Vote (KIP-595), pre-vote (KIP-996), who answers for whom (KIP-853)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.raft import NodeId, ReplicaKey
from barnabas_core.raft.message import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    FetchResponse,
    Message,
    VoteRequest,
    VoteResponse,
)
from barnabas_core.wire.error_code import ErrorCode
from tests.support.raft_lab import Lab, PatientRng, key

CHANCES = st.lists(st.integers(0, 49), min_size=2, max_size=2, unique=True)
"""Of two nodes, in hundredths of a second beyond their timeouts."""


def vote(epoch: int, candidate: int, **changes: object) -> VoteRequest:
    fields = {
        "correlation": 7,
        "epoch": epoch,
        "candidate": key(candidate),
        "voter": ReplicaKey(NodeId(2)),
        "last_epoch": 0,
        "end_offset": 0,
        "pre_vote": False,
        **changes,
    }
    return VoteRequest(**fields)  # type: ignore[arg-type]


def answer(lab: Lab, request: VoteRequest, voter: int = 2) -> VoteResponse:
    lab.drop()
    lab.say(request.candidate.node_id, voter, request)
    (message,) = lab.sent(VoteResponse)
    assert isinstance(message.body, VoteResponse)
    return message.body


def test_a_voter_votes_once_per_epoch() -> None:
    """KIP-595, Vote: at most one candidate gets a voter's vote in an epoch."""
    lab = Lab()

    assert answer(lab, vote(5, 1)).granted
    assert not answer(lab, vote(5, 3)).granted
    assert answer(lab, vote(5, 1)).granted
    assert answer(lab, vote(6, 3)).granted


def test_a_restart_does_not_free_a_vote() -> None:
    """KIP-595: the vote is in the quorum-state before the answer leaves."""
    lab = Lab()
    assert answer(lab, vote(5, 1)).granted

    lab.crash(2)
    lab.start(2)

    assert not answer(lab, vote(5, 3)).granted


@pytest.mark.parametrize("pre_vote", [True, False])
def test_a_shorter_log_gets_no_vote(pre_vote: bool) -> None:
    """KIP-595: the candidate's (last epoch, end offset) must not be behind the voter's."""
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    lab.deliver()
    for node_id in (1, 2, 3):
        lab.crash(node_id)
    lab.start(2)
    lab.stand(2)

    behind = vote(2, 3, last_epoch=1, end_offset=1, pre_vote=pre_vote)
    older = vote(2, 3, last_epoch=0, end_offset=9, pre_vote=pre_vote)
    equal = vote(2, 3, last_epoch=1, end_offset=2, pre_vote=pre_vote)

    assert not answer(lab, behind).granted
    assert not answer(lab, older).granted
    assert answer(lab, equal).granted


def test_asking_whether_one_would_win_raises_no_epoch() -> None:
    """KIP-996: a prospective candidate asks in its own epoch, and nobody's vote is bound by it."""
    lab = Lab()

    lab.stand(1)
    requests = [message.body for message in lab.sent(VoteRequest)]
    assert all(isinstance(body, VoteRequest) and body.pre_vote for body in requests)
    lab.deliver_one()

    assert lab[1].quorum.epoch == 0
    assert lab[2].quorum.hard.voted is None


def test_a_follower_that_hears_its_leader_would_elect_nobody_else() -> None:
    """KIP-996: a follower that has fetched from its leader refuses a pre-vote."""
    lab = Lab()
    lab.elect(1)

    request = vote(1, 3, last_epoch=1, end_offset=1, pre_vote=True)

    assert not answer(lab, request).granted


def test_a_node_that_was_cut_off_does_not_depose_the_leader() -> None:
    """KIP-996: its epoch has not grown meanwhile, and its pre-vote is refused."""
    lab = Lab()
    lab.elect(1)
    lab.cut(3)

    lab.run(20_000)
    lab.join(3)
    lab.run(5_000)

    assert lab.state(1) == "leader"
    assert lab[1].quorum.epoch == 1
    assert lab.state(3) == "follower"


def lab_without_leader() -> Lab:
    """Node 2 has a record that node 3 has not; node 1, which led, is gone."""
    lab = Lab()
    lab.elect(1)
    lab.append(1, "a")
    lab.drop(target=3)
    lab.deliver_one()
    lab.crash(1)
    lab.drop()
    return lab


def lab_where_both_stand() -> Lab:
    """Node 1, which led, is gone; node 3 refused node 2, and asks by now itself."""
    lab = Lab()
    lab.elect(1)
    lab.crash(1)
    lab.stand(2)
    lab.deliver()
    lab.stand(3)
    return lab


def test_who_refused_a_longer_log_is_asked_again_when_it_stands_itself() -> None:
    """Only node 2 can win, and it stood while node 3 still believed in the leader."""
    lab = lab_without_leader()
    lab.stand(2)
    lab.deliver()
    assert lab.state(2) == "prospective"

    lab.stand(3)
    lab.deliver()

    assert lab.state(2) == "leader"
    assert lab[2].quorum.epoch == 2


def test_who_stood_first_wins_where_the_last_is_not_heard() -> None:
    """A link that was lost takes its time to come back, and each direction has its own."""
    lab = lab_where_both_stand()
    lab.drop(source=3)

    lab.run(500)

    assert lab.state(2) == "leader"
    assert lab[2].quorum.epoch == 2


@given(chances=CHANCES, ahead=st.sampled_from([(), (2,), (3,), (2, 3)]))
def test_a_lost_leader_is_replaced_in_one_turn_whoever_stands_first(
    chances: list[int], ahead: tuple[int, ...]
) -> None:
    """Within the fetch timeout and a quarter more, whichever log is longer."""
    lab = Lab()
    lab.elect(1)
    for node_id, chance in zip((2, 3), chances, strict=True):
        lab[node_id].quorum.rng = PatientRng(chance)
    lab.append(1, "a")
    lab.deliver()
    lab.append(1, "b")
    for message in lab.sent(FetchResponse):
        if message.target in ahead:
            lab.step(message.target, message)
    lab.crash(1)
    lab.drop()

    lab.run(2_500)

    assert sorted((lab.state(2), lab.state(3))) == ["follower", "leader"]
    assert lab[2].quorum.epoch == lab[3].quorum.epoch == 2


def test_who_has_our_pre_vote_has_time_to_win_with_it() -> None:
    """Asked at once it would grant us its own: both would stand, and split the vote."""
    lab = lab_where_both_stand()
    (request,) = lab.sent(VoteRequest, 2)
    lab.now_ms += 400
    lab.step(2, request)
    lab.drop()

    lab.pass_ms(499)
    assert lab.sent(VoteRequest, 3) == []
    lab.pass_ms(1)

    assert len(lab.sent(VoteRequest, 3)) == 1


def test_a_leader_grants_nothing_in_its_epoch() -> None:
    """KIP-996: nor does it answer a pre-vote with yes."""
    lab = Lab()
    lab.elect(1)
    for pre_vote in (True, False):
        request = vote(
            2 - pre_vote,
            3,
            voter=ReplicaKey(NodeId(1)),
            last_epoch=1,
            end_offset=99,
            pre_vote=pre_vote,
        )
        if pre_vote:
            assert not answer(lab, request, voter=1).granted
            assert lab.state(1) == "leader"
        else:
            assert answer(lab, request, voter=1).granted
            assert lab.state(1) == "unattached"


def test_an_older_epoch_is_fenced_and_told_of_the_leader() -> None:
    """KIP-595: FENCED_LEADER_EPOCH carries the current epoch and leader."""
    lab = Lab()
    lab.elect(1)
    lab.stand(2)
    lab.deliver()

    response = answer(lab, vote(0, 3, pre_vote=True))

    assert response.error is ErrorCode.FENCED_LEADER_EPOCH
    assert response.news.epoch == lab[2].quorum.epoch


def test_a_request_for_another_disk_is_refused() -> None:
    """KIP-853: a voter is a node id and a directory id; a new disk does not answer for the old."""
    lab = Lab(dynamic=True)

    response = answer(lab, vote(5, 1, voter=key(2, disk=9)))

    assert response.error is ErrorCode.INVALID_VOTER_KEY
    assert lab[2].quorum.epoch == 0


def test_a_node_that_does_not_know_that_it_votes_still_answers() -> None:
    """KIP-853: the candidate may have a newer voter set in its log."""
    lab = Lab(dynamic=True, spares=(4,))

    assert answer(lab, vote(5, 1, voter=key(4)), voter=4).granted


def test_nonsense_changes_nothing() -> None:
    """A candidate's log cannot hold the epoch that it stands for."""
    lab = Lab()

    for request in (vote(5, 1, last_epoch=5), vote(5, 1, end_offset=-1), vote(5, 1, last_epoch=-1)):
        assert answer(lab, request).error is ErrorCode.INVALID_REQUEST

    assert lab[2].quorum.epoch == 0


def test_an_observer_never_stands() -> None:
    """KIP-595: only voters stand; a broker observes for as long as it takes."""
    lab = Lab(observers=(4,))
    for node_id in (1, 2, 3):
        lab.crash(node_id)

    lab.run(30_000)

    assert lab.state(4) == "unattached"
    assert lab[4].quorum.epoch == 0


def test_the_only_voter_leads_at_once() -> None:
    lab = Lab([1])

    assert lab.state(1) == "leader"
    assert lab[1].quorum.high_watermark == 1


def test_a_former_leader_does_not_lead_the_same_epoch_again() -> None:
    """KIP-595: after a restart a leader resigns; what it sent but had not synced may be gone."""
    lab = Lab([1])
    lab.crash(1)

    lab.start(1)

    assert lab.state(1) == "leader"
    assert lab[1].quorum.epoch > 1


def test_a_candidate_follows_whoever_won() -> None:
    """KIP-595, BeginQuorumEpoch."""
    lab = Lab()
    lab.stand(1)
    lab.deliver_one()
    lab.deliver_one()
    lab.drop()
    epoch = lab[1].quorum.epoch

    request = BeginQuorumEpochRequest(1, epoch, NodeId(2), (), ReplicaKey(NodeId(1)))
    lab.say(2, 1, request)

    assert lab.state(1) == "follower"
    (message,) = lab.sent(BeginQuorumEpochResponse)
    assert message.body.error is ErrorCode.NONE  # type: ignore[union-attr]


def test_a_leader_of_an_older_epoch_is_fenced() -> None:
    """KIP-595, BeginQuorumEpoch."""
    lab = Lab()
    lab.elect(1)

    lab.say(3, 2, BeginQuorumEpochRequest(1, 0, NodeId(3), (), ReplicaKey(NodeId(2))))

    (message,) = lab.sent(BeginQuorumEpochResponse)
    assert message.body.error is ErrorCode.FENCED_LEADER_EPOCH  # type: ignore[union-attr]
    assert lab[2].quorum.hard.leader_id == 1


def test_two_leaders_in_one_epoch_stop_the_node() -> None:
    """The one thing that must never be: better no node than a wrong one."""
    lab = Lab()
    lab.elect(1)

    with pytest.raises(AssertionError, match="two leaders"):
        lab.say(3, 2, BeginQuorumEpochRequest(1, 1, NodeId(3), (), ReplicaKey(NodeId(2))))


def test_a_vote_that_nobody_asked_for_does_not_count() -> None:
    lab = Lab()
    lab.stand(1)
    (request, _) = lab.sent(VoteRequest)
    lab.drop()
    news = lab[2].quorum.news()

    stray = VoteResponse(request.body.correlation + 100, ErrorCode.NONE, news, granted=True)
    lab.step(1, Message(NodeId(2), NodeId(1), stray))

    assert lab.state(1) == "prospective"
