"""Offsets that nobody needs any more go, and groups with them (KIP-211)."""

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.shard.decision import Producer
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from tests.support.offsets_lab import MadeUpGroup, OffsetsLab, image_of, offsets_lab

AT = ("group", "cats", 0)
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
INTERVAL_MS = 600_000
PRODUCER = Producer(7, 0)


def test_offsets_of_a_simple_group_expire_a_week_after_their_commit(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.pass_time(DAY_MS)
    lab.commit(("group", "cats", 1), 18)

    lab.pass_time(6 * DAY_MS - 1)
    assert lab.offset(AT) == 17
    lab.pass_time(INTERVAL_MS)

    assert (lab.offset(AT), lab.offset(("group", "cats", 1))) == (-1, 18)


def test_with_its_last_offset_a_group_goes(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    lab.pass_time(7 * DAY_MS + INTERVAL_MS)

    assert [record.key for record in lab.new_records] == [
        OffsetCommitKey("group", "cats", 0),
        GroupMetadataKey("group"),
    ]
    assert all(record.value is None for record in lab.new_records)


def test_what_an_old_client_said_counts(lab: OffsetsLab) -> None:
    lab.commit(AT, 17, version=4, retention_ms=DAY_MS)
    lab.commit(("group", "cats", 1), 18, version=4, retention_ms=10 * DAY_MS)

    lab.pass_time(DAY_MS + INTERVAL_MS)
    assert lab.offset(AT) == -1
    lab.pass_time(8 * DAY_MS)

    assert lab.offset(("group", "cats", 1)) == 18


def test_a_group_says_from_when_on_the_time_runs(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    group = lab.add(MadeUpGroup("group"))

    lab.pass_time(30 * DAY_MS)
    assert lab.offset(AT) == 17
    group.expire_from_ms = lab.now_ms
    lab.pass_time(7 * DAY_MS - 1)
    assert lab.offset(AT) == 17
    lab.pass_time(INTERVAL_MS)

    assert len(lab.new_records) == 1, "a group with members stays"
    assert lab.offset(AT) == -1


def test_what_members_are_subscribed_to_does_not_expire(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "dogs", 0), 18)
    lab.add(MadeUpGroup("group", expire_from_ms=0, subscribed=frozenset(["cats"])))

    lab.pass_time(INTERVAL_MS)

    assert (lab.offset(AT), lab.offset(("group", "dogs", 0))) == (17, -1)


def test_an_empty_group_without_offsets_goes(lab: OffsetsLab) -> None:
    lab.add(MadeUpGroup("group", state_name="Empty", is_empty=True, delete_error=ErrorCode.NONE))

    lab.pass_time(INTERVAL_MS)

    assert [record.key for record in lab.new_records] == [GroupMetadataKey("group")]


def test_a_pending_offset_keeps_the_one_before_it(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit_in_transaction(PRODUCER, AT, 18)

    lab.pass_time(8 * DAY_MS)
    assert lab.offset(AT) == 17
    lab.end_transaction(PRODUCER, commit=False)
    lab.pass_time(INTERVAL_MS)

    assert lab.offset(AT) == -1


def test_the_settings_say_how_long_and_how_often() -> None:
    settings = GroupSettings(
        offsets_retention_minutes=1, offsets_retention_check_interval_ms=10_000
    )
    lab = offsets_lab(image_of(["cats"]), settings)
    lab.commit(AT, 17)

    lab.pass_time(59_000)
    assert lab.offset(AT) == 17
    lab.pass_time(1_000)

    assert lab.offset(AT) == -1


def test_a_loaded_shard_goes_on_checking(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.reload()

    lab.pass_time(8 * DAY_MS)

    assert lab.offset(AT) == -1


def test_many_groups_are_looked_at_in_several_turns() -> None:
    lab = offsets_lab(image_of(["cats"]))
    for number in range(3_000):
        lab.commit((f"group-{number}", "cats", 0), number)
    state = lab.machine.state

    state.deadlines.pop_due(lab.monotonic_ms + INTERVAL_MS)
    lab.now_ms += 8 * DAY_MS
    state.deadlines.set(("offset-expiry", "", ""), lab.monotonic_ms)
    first = lab.machine.on_timer(lab.env)

    assert 0 < len(first) < 3_000
    assert lab.machine.next_deadline_ms() == lab.monotonic_ms
    lab._take(first)
    lab.pass_time(0)
    assert not state.offsets.group_ids()
    lab.check_replay()


def test_old_producers_are_forgotten(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(PRODUCER, AT, 18)
    lab.end_transaction(PRODUCER, commit=True)

    lab.pass_time(DAY_MS + HOUR_MS + INTERVAL_MS)

    assert not lab.machine.state.offsets.producers


def test_a_producer_is_known_as_long_as_its_transaction_lasts(lab: OffsetsLab) -> None:
    lab.commit_in_transaction(PRODUCER, AT, 18)

    lab.pass_time(3 * DAY_MS)

    assert list(lab.machine.state.offsets.producers) == [PRODUCER.id]


def test_offsets_of_a_topic_that_is_deleted_go(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)
    lab.commit(("group", "dogs", 0), 18)
    lab.commit_in_transaction(PRODUCER, ("other", "cats", 1), 19)

    lab.set_image(image_of(["dogs"]))

    assert len(lab.new_records) == 2
    assert (lab.offset(AT), lab.offset(("group", "dogs", 0))) == (-1, 18)
    lab.end_transaction(PRODUCER, commit=True)
    assert lab.offset(("other", "cats", 1)) == -1


def test_a_topic_that_came_back_is_another_one(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    lab.set_image(image_of(["cats", "dogs"], {"cats": 1}))

    assert lab.offset(AT) == -1


def test_topics_that_come_or_stay_change_nothing(lab: OffsetsLab) -> None:
    lab.commit(AT, 17)

    lab.set_image(image_of(["cats", "dogs", "mice"]))

    assert not lab.new_records
    assert lab.offset(AT) == 17
