"""Members join a consumer group, stay in it and leave it (KIP-848)."""

from barnabas_coordinator.shard.record_codec import encode_record
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message
from tests.support.consumer_lab import GROUP, Consumer, ConsumerLab, settle

ALL = frozenset(("t", number) for number in range(4))


def kinds(lab: ConsumerLab) -> list[str]:
    """The records of the last act; deleted ones with a minus."""

    def name(key: Message, value: Message | None) -> str:
        short = type(key).__name__.removeprefix("ConsumerGroup").removesuffix("Key")
        return short if value is not None else f"-{short}"

    return [name(*record) for record in lab.new_records]


def test_the_first_member_is_given_everything_at_once(lab: ConsumerLab) -> None:
    answer = lab.beat("m")

    assert lab.told(answer) == ALL
    assert answer.member_id == "m"
    assert lab.group.state_name == "Stable"


def test_a_new_group_begins_at_epoch_one_so_the_first_assignment_is_two(lab: ConsumerLab) -> None:
    """KIP-1263: a member is never told 0, which would be to join again."""
    assert lab.beat("m").member_epoch == 2
    assert (lab.group.epoch, lab.group.assignment_epoch) == (2, 2)


def test_records_come_in_kafkas_order(lab: ConsumerLab) -> None:
    lab.beat("m")
    assert kinds(lab) == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]

    lab.beat("m", -1)
    assert kinds(lab) == [
        "-CurrentMemberAssignment",
        "-TargetAssignmentMember",
        "-MemberMetadata",
        "Metadata",
    ]


def test_a_subscription_that_is_too_large_to_be_written_is_refused() -> None:
    """The log would refuse it, and all groups of the shard would pay for that."""
    lab = ConsumerLab({"t": 4}, batch_bytes_max=2_000)

    answer = lab.beat("m", subscribed_topic_names=["t", *("x" * 100 for _ in range(10))])

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert lab.machine.state.groups == {}
    assert lab.beat("m", subscribed_topic_names=["t", *("x" * 100 for _ in range(5))])


def test_an_assignment_that_fits_no_batch_is_written_in_several() -> None:
    lab = ConsumerLab({"t": 600}, batch_bytes_max=2_000)
    for name in "abcdef":
        lab.post(name)
    lab.reload()  # nobody is parked any more, and what was to be computed is asked for again

    (job,) = lab.jobs
    done = lab.machine.on_done(job.key, job.run(), lab.env)

    sizes = [len(build_batch([encode_record(it) for it in one.records])) for one in done]
    assert len(sizes) > 1
    assert max(sizes) <= 2_000
    assert [type(one.records[-1].key).__name__ for one in done if one is not done[-1]] == [
        "ConsumerGroupTargetAssignmentMemberKey"
    ] * (len(done) - 1)
    assert type(done[-1].records[-1].key).__name__ == "ConsumerGroupTargetAssignmentMetadataKey"


def test_the_protocol_may_be_switched_off() -> None:
    """group.coordinator.rebalance.protocols; as a broker that never heard of it."""
    lab = ConsumerLab(rebalance_protocols=("classic",))

    assert lab.beat("m").error_code == ErrorCode.UNSUPPORTED_VERSION
    assert lab.described().error_code == ErrorCode.UNSUPPORTED_VERSION
    assert not lab.new_records


def test_the_server_makes_a_member_id_for_clients_that_have_none(lab: ConsumerLab) -> None:
    answer = lab.beat("", version=0)

    assert answer.member_id
    assert list(lab.group.members) == [answer.member_id]


def test_from_version_1_on_clients_bring_their_own_id(lab: ConsumerLab) -> None:
    """KIP-1082."""
    assert lab.refused("", version=1) is ErrorCode.INVALID_REQUEST


def test_a_heartbeat_that_changes_nothing_writes_and_tells_nothing(lab: ConsumerLab) -> None:
    lab.beat("m")

    answer = lab.beat("m", 2)

    assert answer.error_code == ErrorCode.NONE
    assert answer.assignment is None
    assert lab.new_records == []


def test_a_full_heartbeat_is_told_its_assignment_again(lab: ConsumerLab) -> None:
    lab.beat("m")

    answer = lab.beat(
        "m", 2, owned=frozenset(), rebalance_timeout_ms=10_000, subscribed_topic_names=["t"]
    )

    assert lab.told(answer) == ALL


def test_another_subscription_is_another_epoch(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)
    lab.beat("m")

    answer = lab.beat("m", 2, owned=ALL, subscribed_topic_names=["t", "u"])

    assert answer.member_epoch == 3
    assert lab.told(answer) == ALL | {("u", 0)}


def test_another_rack_or_client_is_written_but_no_other_epoch(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.beat("m", 2, rack_id="east").member_epoch == 2
    assert kinds(lab) == ["MemberMetadata"]
    assert lab.group.members["m"].rack_id == "east"


def test_topics_that_are_given_up_are_revoked(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)
    lab.beat("m", subscribed_topic_names=["t", "u"])

    answer = lab.beat("m", 2, owned=ALL | {("u", 0)}, subscribed_topic_names=["u"])
    assert lab.told(answer) == {("u", 0)}
    assert answer.member_epoch == 2

    assert lab.beat("m", 2, owned=frozenset({("u", 0)})).member_epoch == 3


def test_who_leaves_frees_its_partitions(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a"), Consumer(lab, "b")
    settle(lab, first, second)
    assert len(first.partitions) == len(second.partitions) == 2

    first.leave()
    settle(lab, second)

    assert second.partitions == ALL
    assert list(lab.group.members) == ["b"]


def test_leaving_is_acknowledged_with_the_epoch_of_leaving(lab: ConsumerLab) -> None:
    lab.beat("m")

    answer = lab.beat("m", -1)

    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m", -1)
    assert lab.group.state_name == "Empty"


def test_a_group_that_is_not_there_can_only_be_joined(lab: ConsumerLab) -> None:
    assert lab.refused("m", 1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.refused("m", -1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert GROUP not in lab.machine.state.groups


def test_who_is_no_member_is_told_so(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.refused("other", 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.refused("other", -1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_epoch_that_was_never_given_is_fenced(lab: ConsumerLab) -> None:
    lab.beat("m")

    assert lab.refused("m", 3, owned=frozenset()) is ErrorCode.FENCED_MEMBER_EPOCH
    assert lab.refused("m", 1, owned=frozenset()) is ErrorCode.FENCED_MEMBER_EPOCH


def test_the_epoch_before_is_good_while_the_answer_may_have_been_lost(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)
    lab.beat("m")
    lab.beat("m", 2, owned=ALL, subscribed_topic_names=["t", "u"])
    assert lab.group.members["m"].epoch == 3

    answer = lab.beat(
        "m", 2, owned=ALL, rebalance_timeout_ms=10_000, subscribed_topic_names=["t", "u"]
    )

    assert answer.member_epoch == 3
    assert lab.told(answer) == ALL | {("u", 0)}


def test_the_epoch_before_is_fenced_with_partitions_that_are_not_its_own(lab: ConsumerLab) -> None:
    lab.add_topic("u", 1)
    lab.beat("m")
    lab.beat("m", 2, owned=ALL, subscribed_topic_names=["t"], rack_id="r")
    lab.beat("m", 2, owned=frozenset(), subscribed_topic_names=["u"])
    assert lab.group.members["m"].epoch == 3

    assert lab.refused("m", 2, owned=ALL) is ErrorCode.FENCED_MEMBER_EPOCH
    assert lab.refused("m", 2) is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_may_join_again_under_its_id(lab: ConsumerLab) -> None:
    """Its first answer was lost, or it was fenced and gave everything up."""
    lab.beat("m")

    answer = lab.beat("m", 0)

    assert answer.member_epoch == 2
    assert lab.told(answer) == ALL
    assert len(lab.group.members) == 1


def test_a_full_group_takes_no_more_members() -> None:
    lab = ConsumerLab({"t": 4}, consumer_max_size=1)
    lab.beat("m")

    assert lab.refused("n") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert lab.beat("m", 2).error_code == ErrorCode.NONE
    lab.check_replay()


def test_topics_that_do_not_exist_are_waited_for(lab: ConsumerLab) -> None:
    assert lab.told(lab.beat("m", subscribed_topic_names=["later"])) == frozenset()

    lab.add_topic("later", 2)
    lab.do_jobs()

    assert lab.told(lab.beat("m", 2, owned=frozenset())) == {("later", 0), ("later", 1)}


def test_a_member_may_be_subscribed_to_nothing(lab: ConsumerLab) -> None:
    answer = lab.beat("m", subscribed_topic_names=[])

    assert lab.told(answer) == frozenset()
    assert answer.member_epoch > 0


def test_requests_that_can_be_right_for_no_group_are_invalid(lab: ConsumerLab) -> None:
    lab.beat("m")
    invalid = ErrorCode.INVALID_REQUEST

    assert lab.refused("m", group_id="") is invalid
    assert lab.refused("m", instance_id="") is invalid
    assert lab.refused("m", rack_id="") is invalid
    assert lab.refused("m", -3) is invalid
    assert lab.refused("", 2) is invalid
    assert lab.refused("", -1) is invalid
    assert lab.refused("m", -2) is invalid  # only static members leave for a while
    assert lab.refused("m", rebalance_timeout_ms=-1) is invalid
    assert lab.refused("m", topic_partitions=None) is invalid
    assert lab.refused("m", owned=ALL) is invalid
    assert lab.refused("m", subscribed_topic_names=None) is invalid


def test_an_assignor_must_be_one_that_there_is(lab: ConsumerLab) -> None:
    assert lab.refused("m", server_assignor="mine") is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert GROUP not in lab.machine.state.groups


def test_the_assignor_that_most_members_want_is_used(lab: ConsumerLab) -> None:
    lab.add_topic("u", 4)
    members = [
        Consumer(lab, "a", ("t", "u"), assignor="range"),
        Consumer(lab, "b", ("t", "u"), assignor="range"),
        Consumer(lab, "c", ("t", "u"), assignor="uniform"),
    ]
    settle(lab, *members)

    assert lab.described().assignor_name == "range"
    # The same numbers of both topics, which makes loads less equal.
    assert [len(one.partitions) for one in members] == [4, 2, 2]
