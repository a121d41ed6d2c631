"""Who may commit and fetch offsets of a consumer group, and when it may be deleted (KIP-848)."""

from barnabas_coordinator.group.group_state import Claim
from barnabas_core.wire.error_code import ErrorCode
from tests.support.consumer_lab import Consumer, ConsumerLab, settle, topic_id


def claim(
    member_id: str = "m", epoch: int = 2, version: int = 9, *, transactional: bool = False
) -> Claim:
    return Claim(member_id, None, epoch, version, transactional)


def test_a_member_commits_with_its_epoch(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.group.check_commit(claim(), lab.env) is ErrorCode.NONE
    assert lab.group.check_commit(claim(epoch=1), lab.env) is ErrorCode.STALE_MEMBER_EPOCH
    assert lab.group.check_commit(claim(epoch=3), lab.env) is ErrorCode.STALE_MEMBER_EPOCH


def test_who_is_no_member_commits_nothing(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.group.check_commit(claim("other"), lab.env) is ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.group.check_commit(claim("", -1), lab.env) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_takes_commits_of_those_who_manage_themselves(lab: ConsumerLab) -> None:
    lab.beat("m")
    lab.beat("m", -1)

    assert lab.group.check_commit(claim("", -1), lab.env) is ErrorCode.NONE
    assert lab.group.check_commit(claim("m", 2), lab.env) is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_commit_with_a_version_that_knows_epochs(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.group.check_commit(claim(version=8), lab.env) is ErrorCode.UNSUPPORTED_VERSION
    transactional = claim(version=3, transactional=True)
    assert lab.group.check_commit(transactional, lab.env) is ErrorCode.NONE


def test_an_older_epoch_is_good_for_what_the_member_had_then_and_has_still(
    lab: ConsumerLab,
) -> None:
    """KIP-1251."""
    first, second = Consumer(lab, "a"), Consumer(lab, "b")
    settle(lab, first, second)
    second.leave()
    settle(lab, first)
    assert first.epoch == 4
    since = lab.group.members["a"].assigned[topic_id("t")]
    kept = next(n for n, epoch in since.items() if epoch == 2)
    given = next(n for n, epoch in since.items() if epoch == 4)

    old = claim("a", 3)
    assert lab.group.check_commit(old, lab.env) is ErrorCode.STALE_MEMBER_EPOCH
    assert lab.group.check_commit_of(old, topic_id("t"), kept) is ErrorCode.NONE
    assert lab.group.check_commit_of(old, topic_id("t"), given) is ErrorCode.STALE_MEMBER_EPOCH
    assert lab.group.check_commit_of(old, topic_id("u"), 0) is ErrorCode.STALE_MEMBER_EPOCH
    newer = claim("a", 5)
    assert lab.group.check_commit_of(newer, topic_id("t"), kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert lab.group.check_commit_of(claim("x"), topic_id("t"), 0) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_fetches_with_its_epoch_and_anybody_without(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.group.check_fetch("m", 2) is ErrorCode.NONE
    assert lab.group.check_fetch("", -1) is ErrorCode.NONE
    assert lab.group.check_fetch("m", 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert lab.group.check_fetch("x", 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_only_an_empty_group_is_deleted_and_nothing_of_it_stays(lab: ConsumerLab) -> None:
    lab.beat("m")
    assert lab.group.check_delete() is ErrorCode.NON_EMPTY_GROUP
    lab.beat("m", -1)
    assert lab.group.check_delete() is ErrorCode.NONE

    for record in lab.group.tombstones():
        lab._append(record)

    assert lab.machine.state.groups == {}
    assert lab.loaded().state.groups == {}


def test_offsets_expire_from_their_commit_on(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.group.offsets_expire_from_ms(17) == 17
    assert lab.group.is_subscribed_to("t")
