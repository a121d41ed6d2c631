"""Who waits for news is told to come again soon; everybody else, as configured (KIP-848)."""

from collections.abc import Iterator

import pytest

from barnabas_coordinator.group.consumer.member import MemberState
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from tests.support.consumer_lab import ConsumerLab

ALL = frozenset(("t", number) for number in range(4))
CONFIGURED_MS = 5_000
SOON_MS = 500


@pytest.fixture
def slow() -> Iterator[ConsumerLab]:
    """With an assignment interval of half a minute."""
    made = ConsumerLab({"t": 4}, consumer_assignment_interval_ms=30_000)
    yield made
    made.check_replay()


def told_ms(lab: ConsumerLab, call: int) -> int:
    return lab.answer(call, ConsumerGroupHeartbeatResponse).heartbeat_interval_ms


# --- whose picture is not final


def test_who_waits_for_partitions_of_others_comes_again_soon(lab: ConsumerLab) -> None:
    lab.beat("a")
    assert lab.beat("b").heartbeat_interval_ms == SOON_MS
    assert lab.state_of("b") is MemberState.UNRELEASED_PARTITIONS

    lab.pass_time(CONFIGURED_MS)

    assert lab.beat("b", 3).heartbeat_interval_ms == SOON_MS


def test_who_has_to_give_partitions_up_comes_again_soon(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("b")
    lab.pass_time(CONFIGURED_MS)

    answer = lab.beat("a", 2, owned=ALL)

    assert lab.state_of("a") is MemberState.UNREVOKED_PARTITIONS
    assert answer.heartbeat_interval_ms == SOON_MS


def test_who_is_where_it_shall_be_comes_as_configured_while_others_are_not(
    lab: ConsumerLab,
) -> None:
    lab.beat("a")
    lab.beat("b")
    lab.pass_time(CONFIGURED_MS)
    kept = lab.told(lab.beat("a", 2, owned=ALL))

    answer = lab.beat("a", 2, owned=kept)

    assert lab.state_of("a") is MemberState.STABLE
    assert lab.state_of("b") is MemberState.UNRELEASED_PARTITIONS
    assert answer.heartbeat_interval_ms == CONFIGURED_MS
    assert lab.beat("b", 3).heartbeat_interval_ms == CONFIGURED_MS  # and now it has its share


def test_who_is_where_it_shall_be_comes_again_soon_when_others_have_just_come(
    lab: ConsumerLab,
) -> None:
    """More may come, and wait for what it has."""
    assert lab.beat("a").heartbeat_interval_ms == SOON_MS
    lab.pass_time(CONFIGURED_MS // 2 - 1)
    assert lab.beat("a", 2).heartbeat_interval_ms == SOON_MS

    lab.pass_time(1)
    assert lab.beat("a", 2).heartbeat_interval_ms == CONFIGURED_MS


def test_who_comes_while_an_assignment_is_put_off_comes_again_soon(slow: ConsumerLab) -> None:
    slow.beat("a")
    slow.pass_time(15_000)
    slow.post("b")
    slow.pass_time(CONFIGURED_MS // 2)
    assert not slow.jobs

    assert slow.beat("a", 2, owned=ALL).heartbeat_interval_ms == SOON_MS


def test_who_begins_an_epoch_comes_again_soon(slow: ConsumerLab) -> None:
    slow.add_topic("u", 1)
    slow.beat("a")
    slow.pass_time(15_000)

    answer = slow.beat("a", 2, subscribed_topic_names=["t", "u"])

    assert answer.member_epoch == 2
    assert answer.heartbeat_interval_ms == SOON_MS


def test_who_has_waited_in_vain_for_an_assignment_comes_again_soon(slow: ConsumerLab) -> None:
    slow.beat("a")
    call = slow.post("b")

    slow.pass_time(CONFIGURED_MS)

    assert told_ms(slow, call) == SOON_MS


def test_after_loading_who_still_waits_comes_again_soon(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("b")
    lab.pass_time(20_000)
    assert lab.beat("b", 3).heartbeat_interval_ms == CONFIGURED_MS

    lab.reload()

    assert lab.beat("b", 3).heartbeat_interval_ms == SOON_MS


# --- not for ever


def test_who_waits_for_somebody_slow_comes_as_configured_after_two_intervals(
    lab: ConsumerLab,
) -> None:
    lab.beat("a")
    lab.beat("b")

    lab.pass_time(2 * CONFIGURED_MS - 1)
    assert lab.beat("b", 3).heartbeat_interval_ms == SOON_MS
    lab.pass_time(1)

    assert lab.beat("b", 3).heartbeat_interval_ms == CONFIGURED_MS


def test_a_new_epoch_begins_the_time_anew_and_so_does_its_assignment(slow: ConsumerLab) -> None:
    """Which may come later than that."""
    slow.beat("a")
    slow.pass_time(15_000)

    slow.post("b")
    assert slow.beat("a", 2, owned=ALL).heartbeat_interval_ms == SOON_MS
    slow.pass_time(2 * CONFIGURED_MS)
    assert slow.beat("a", 2, owned=ALL).heartbeat_interval_ms == CONFIGURED_MS

    slow.pass_time(5_000)
    slow.do_jobs()
    assert slow.group.assignment_epoch == 3
    assert slow.beat("a", 2, owned=ALL).heartbeat_interval_ms == SOON_MS


def test_the_members_of_a_large_group_come_less_soon(slow: ConsumerLab) -> None:
    """500 heartbeats a second at most, however many wait for one."""
    slow.beat("a")
    for number in range(399):
        slow.post(f"m{number}")

    assert slow.beat("a", 2, owned=ALL).heartbeat_interval_ms == 800


def test_no_more_than_500_members_in_a_second_are_told_so(lab: ConsumerLab) -> None:
    """Whatever their groups are, and their shards."""
    lab.pass_time(1_000)
    lab.beat("a", group_id="first")
    told = [lab.beat("a", 2, group_id="first").heartbeat_interval_ms for _ in range(499)]
    assert set(told) == {SOON_MS}

    assert lab.beat("b", group_id="second").heartbeat_interval_ms == CONFIGURED_MS
    lab.pass_time(1_000)
    assert lab.beat("b", 2, group_id="second").heartbeat_interval_ms == SOON_MS


def test_the_members_of_a_group_that_was_stable_when_it_was_loaded_come_as_configured(
    lab: ConsumerLab,
) -> None:
    lab.beat("a")
    assert lab.group.state_name == "Stable"

    lab.pass_time(CONFIGURED_MS)
    lab.reload()

    assert lab.beat("a", 2).heartbeat_interval_ms == CONFIGURED_MS


# --- how soon


@pytest.mark.parametrize(
    ("configured_ms", "soon_ms"), [(15_000, 1_500), (6_000, 600), (4_000, 500), (300, 300)]
)
def test_soon_is_a_tenth_but_not_below_500_ms_nor_above_what_is_configured(
    configured_ms: int, soon_ms: int
) -> None:
    lab = ConsumerLab({"t": 4}, consumer_heartbeat_interval_ms=configured_ms)
    lab.beat("a")

    assert lab.beat("b").heartbeat_interval_ms == soon_ms


def test_soon_follows_the_interval_that_a_group_has_of_its_own(lab: ConsumerLab) -> None:
    lab.configure("consumer.heartbeat.interval.ms", "7000")
    lab.beat("a")

    assert lab.beat("b").heartbeat_interval_ms == 700


def test_the_session_of_who_shall_come_soon_is_as_long_as_any(lab: ConsumerLab) -> None:
    lab.beat("a")
    assert lab.beat("b").heartbeat_interval_ms == SOON_MS

    lab.pass_time(44_999)
    assert lab.is_member("b")
    lab.pass_time(1)

    assert not lab.is_member("b")
