"""Who is silent too long is put out; after loading everybody has the full time again (KIP-848)."""

from barnabas_coordinator.group.consumer.member import MemberState
from tests.support.consumer_lab import Consumer, ConsumerLab, settle

ALL = frozenset(("t", number) for number in range(4))


def test_who_is_silent_for_a_session_is_put_out(lab: ConsumerLab) -> None:
    lab.beat("m")

    lab.pass_time(44_999)
    assert "m" in lab.group.members
    lab.pass_time(1)

    assert lab.group.is_empty
    assert lab.group.epoch == 3


def test_every_heartbeat_begins_a_session(lab: ConsumerLab) -> None:
    lab.beat("m")

    for _ in range(5):
        lab.pass_time(40_000)
        lab.beat("m", 2)

    assert "m" in lab.group.members


def test_the_partitions_of_who_died_go_to_the_others(lab: ConsumerLab) -> None:
    dead, alive = Consumer(lab, "a"), Consumer(lab, "b")
    settle(lab, dead, alive)

    for _ in range(10):
        lab.pass_time(5_000)
        alive.beat()
    settle(lab, alive)

    assert alive.partitions == ALL


def test_a_group_may_have_a_session_and_an_interval_of_its_own() -> None:
    """KIP-848, group configs; the broker's bounds hold."""
    lab = ConsumerLab({"t": 4}, consumer_min_session_timeout_ms=20_000)
    lab.configure("consumer.session.timeout.ms", "30000")
    lab.configure("consumer.heartbeat.interval.ms", "7000")
    lab.beat("m")
    lab.pass_time(10_000)
    assert lab.beat("m", 2).heartbeat_interval_ms == 7_000

    lab.pass_time(30_000)
    assert not lab.is_member("m")

    lab.configure("consumer.session.timeout.ms", "1000")
    lab.configure("consumer.heartbeat.interval.ms", "60000")
    epoch = lab.beat("m").member_epoch
    lab.pass_time(10_000)
    assert lab.beat("m", epoch).heartbeat_interval_ms == 15_000
    lab.pass_time(19_999)
    assert lab.is_member("m")
    lab.check_replay()


def test_loading_gives_every_member_a_full_session(lab: ConsumerLab) -> None:
    lab.beat("m")
    lab.pass_time(44_000)

    lab.reload()
    lab.pass_time(44_999)
    assert "m" in lab.group.members
    lab.pass_time(1)

    assert lab.group.is_empty


def test_loading_gives_a_revocation_its_full_time(lab: ConsumerLab) -> None:
    slow, other = Consumer(lab, "a", is_slow=True), Consumer(lab, "b")
    slow.beat()
    other.beat()
    slow.beat()
    lab.pass_time(9_000)

    lab.reload()
    assert lab.state_of("a") is MemberState.UNREVOKED_PARTITIONS
    lab.pass_time(9_999)
    assert "a" in lab.group.members
    lab.pass_time(1)

    assert list(lab.group.members) == ["b"]


def test_when_records_can_be_written_again_every_member_has_its_full_session(
    lab: ConsumerLab,
) -> None:
    """Its heartbeats may have been refused meanwhile."""
    lab.beat("m")
    lab.pass_time(44_000)

    lab.machine.on_writable(lab.env)

    lab.pass_time(44_999)
    assert lab.is_member("m")
    lab.pass_time(1)
    assert not lab.is_member("m")


def test_when_records_can_be_written_again_a_revocation_has_its_full_time(
    lab: ConsumerLab,
) -> None:
    """That it gave its partitions up may have been refused meanwhile."""
    slow, other = Consumer(lab, "a", is_slow=True), Consumer(lab, "b")
    slow.beat()
    other.beat()
    slow.beat()
    lab.pass_time(9_000)

    lab.machine.on_writable(lab.env)

    lab.pass_time(9_999)
    assert lab.is_member("a")
    lab.pass_time(1)
    assert not lab.is_member("a")


def test_after_loading_members_go_on_where_they_were(lab: ConsumerLab) -> None:
    first, second = Consumer(lab, "a"), Consumer(lab, "b")
    first.beat()
    second.beat()

    lab.reload()
    settle(lab, first, second)

    assert len(first.partitions) == len(second.partitions) == 2
    assert (first.epoch, second.epoch) == (3, 3)


def test_an_assignment_that_was_under_way_is_computed_after_loading(lab: ConsumerLab) -> None:
    lab.post("m")
    assert lab.jobs

    lab.reload()
    assert lab.group.state_name == "Assigning"
    lab.do_jobs()

    assert lab.group.state_name == "Reconciling"
    assert lab.told(lab.beat("m")) == ALL


def test_topics_that_changed_while_nobody_watched_are_noticed_when_loading(
    lab: ConsumerLab,
) -> None:
    member = Consumer(lab, "m")
    member.beat()
    image = lab.image
    lab.grow_topic("t", 6)
    grown, lab.image = lab.image, image
    # Of what the first one made of it nothing was written.
    del lab.log[-len(lab.new_records) :]
    lab.machine = lab.loaded()

    lab.image = grown
    lab.reload()
    lab.do_jobs()
    settle(lab, member)

    assert len(member.partitions) == 6
