"""What a group has to say about offsets: who may commit, what expires, what may be deleted."""

from barnabas_core.wire.error_code import ErrorCode
from tests.support.classic_lab import SESSION_MS, ClassicLab, join_of, leaving, subscription


def test_a_member_of_the_generation_commits(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)

    assert lab.commit(leader, 1) == ErrorCode.NONE
    assert lab.commit(leader, 0) == ErrorCode.ILLEGAL_GENERATION
    assert lab.commit("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_manages_itself_commits_only_to_an_empty_group(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    assert lab.commit("", -1) == ErrorCode.UNKNOWN_MEMBER_ID

    lab.leave(leaving(leader))

    assert lab.commit("", -1) == ErrorCode.NONE


def test_a_commit_is_a_sign_of_life(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)

    for _ in range(5):
        lab.shard.pass_time(SESSION_MS - 1)
        assert lab.commit(leader, 1) == ErrorCode.NONE


def test_a_commit_in_a_transaction_is_none(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.shard.pass_time(SESSION_MS - 1)

    assert lab.commit(leader, 1, is_transactional=True) == ErrorCode.NONE

    lab.shard.pass_time(1)
    assert lab.group.is_empty


def test_members_may_commit_what_they_have_while_a_rebalance_is_prepared(lab: ClassicLab) -> None:
    _, follower = lab.stable(2)
    lab.new_member()

    assert lab.commit(follower, 1) == ErrorCode.NONE


def test_nobody_commits_before_it_knows_what_it_has(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.joined(lab.join(join_of(leader)))

    assert lab.commit(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.commit(leader, 2, is_transactional=True) == ErrorCode.NONE


def test_a_transaction_of_long_ago_says_not_who_it_is(lab: ClassicLab) -> None:
    """Before v3 of TxnOffsetCommit (KIP-447)."""
    lab.stable(1)

    assert lab.commit("", -1, is_transactional=True) == ErrorCode.NONE


def test_offsets_of_an_empty_group_expire_from_when_it_became_empty(lab: ClassicLab) -> None:
    """KIP-211."""
    (leader,) = lab.stable(1)
    lab.shard.pass_time(5_000)
    lab.leave(leaving(leader))

    assert lab.group.offsets_expire_from_ms(1) == lab.shard.now_ms


def test_offsets_of_topics_that_consumers_do_not_read_expire_from_their_commit(
    lab: ClassicLab,
) -> None:
    """KIP-211."""
    lab.stable(1, (("range", subscription("orders")),))

    assert lab.group.offsets_expire_from_ms(1) == 1
    assert lab.group.is_subscribed_to("orders")
    assert not lab.group.is_subscribed_to("payments")


def test_nothing_expires_while_it_is_not_known_what_is_read(lab: ClassicLab) -> None:
    """KIP-211."""
    lab.stable(1, (("range", b"\x00"),))

    assert lab.group.offsets_expire_from_ms(1) is None
    assert lab.group.is_subscribed_to("anything")


def test_nothing_expires_during_a_rebalance(lab: ClassicLab) -> None:
    lab.stable(1, (("range", subscription("orders")),))
    lab.new_member((("range", subscription("orders")),))

    assert lab.group.offsets_expire_from_ms(1) is None


def test_nothing_of_another_protocol_type_expires_while_it_has_members(lab: ClassicLab) -> None:
    call = lab.join(join_of("", protocol_type="connect"), 3)
    lab.shard.pass_time(3_000)
    lab.joined(call)

    assert lab.group.offsets_expire_from_ms(1) is None
    assert not lab.group.is_subscribed_to("anything")


def test_offsets_of_a_group_that_nobody_ever_was_in_expire_from_their_commit(
    lab: ClassicLab,
) -> None:
    lab.new_member_id()

    assert lab.group.offsets_expire_from_ms(1) == 1


def test_subscriptions_of_any_version_are_understood(lab: ClassicLab) -> None:
    later = bytes([0, 99]) + subscription("payments")[2:] + b"what later versions add"
    lab.stable(1, (("range", later),))

    assert lab.group.is_subscribed_to("payments")


def test_only_an_empty_group_may_be_deleted(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    assert lab.group.check_delete() == ErrorCode.NON_EMPTY_GROUP

    lab.leave(leaving(leader))

    assert lab.group.check_delete() == ErrorCode.NONE
