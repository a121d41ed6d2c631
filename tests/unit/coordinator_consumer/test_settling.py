"""Members that come again when they are told to: how long their group takes, in virtual time."""

from typing import Any

from barnabas_coordinator.group.group_settings import GroupSettings
from tests.support.consumer_lab import Consumer, ConsumerLab

PARTITION_COUNT = 900
TICK_MS = 10
INTERVAL_MS = GroupSettings().consumer_heartbeat_interval_ms
SESSION_MS = GroupSettings().consumer_session_timeout_ms


class Crowd:
    """As clients do it: at once when something was given up or taken, else when it was told."""

    def __init__(self) -> None:
        self.lab = ConsumerLab({"t": PARTITION_COUNT}, consumer_assignment_interval_ms=1_000)
        self.next_ms: dict[str, int] = {}
        self.members: dict[str, Consumer] = {}

    def add(self) -> None:
        name = f"m{len(self.next_ms)}"
        self.members[name] = Consumer(self.lab, name)
        self.next_ms[name] = self.lab.monotonic_ms

    def ms_until_settled(self) -> int:
        begun_ms = self.lab.monotonic_ms
        while not self.is_settled:
            self.tick()
        return self.lab.monotonic_ms - begun_ms

    def wait(self, ms: int) -> None:
        for _ in range(ms // TICK_MS):
            self.tick()

    def tick(self) -> None:
        for name, member in self.members.items():
            if member.call is None and self.next_ms[name] <= self.lab.monotonic_ms:
                member.post()
        self.lab.do_jobs()
        for name, member in self.members.items():
            if member.call is not None and not self.lab.is_waiting(member.call):
                self._take(name, member)
        self.lab.pass_time(TICK_MS)
        assert self.lab.monotonic_ms < 10 * SESSION_MS, "it does not settle"

    def _take(self, name: str, member: Consumer) -> None:
        answer: Any = self.lab.answers[member.call or 0]
        before = member.owned
        member.take()
        interval_ms = answer.heartbeat_interval_ms if member.owned == before else 0
        self.next_ms[name] = self.lab.monotonic_ms + interval_ms

    @property
    def is_settled(self) -> bool:
        sizes = [len(member.owned) for member in self.members.values()]
        return sum(sizes) == PARTITION_COUNT and max(sizes) - min(sizes) <= 1


def crowd(count: int) -> Crowd:
    made = Crowd()
    for _ in range(count):
        made.add()
        made.tick()
    return made


def test_members_that_begin_one_after_the_other_settle_within_half_an_interval() -> None:
    """The first has everything for a second, until the others are assigned something as well."""
    made = crowd(10)

    assert made.ms_until_settled() < INTERVAL_MS / 2


def test_a_newcomer_has_its_share_as_soon_as_the_others_gave_it_up() -> None:
    made = crowd(10)
    made.ms_until_settled()
    made.wait(6_000)

    made.add()
    last_ms = max(made.next_ms.values()) - made.lab.monotonic_ms

    assert made.ms_until_settled() <= last_ms + INTERVAL_MS / 10 + 2 * TICK_MS


def test_the_partitions_of_a_member_that_died_are_given_out_within_an_interval() -> None:
    made = crowd(10)
    made.ms_until_settled()

    del made.members["m3"]
    while made.lab.is_member("m3"):
        made.tick()

    assert made.ms_until_settled() <= INTERVAL_MS


def test_a_group_that_has_settled_sends_no_more_heartbeats_than_configured() -> None:
    made = crowd(10)
    made.ms_until_settled()
    made.wait(2 * INTERVAL_MS)
    before = made.lab.calls

    made.wait(10 * INTERVAL_MS)

    assert made.lab.calls - before == 10 * len(made.members)
