"""Members of both protocols come and go at random: the group changes its kind, and nothing is lost.

The classic ones are eager: told to join again, they give up all they have before they do.
"""

from random import Random
from typing import Final

import pytest

from barnabas_coordinator.group.classic.group import ClassicGroup, ClassicState
from barnabas_coordinator.group.group_state import GroupType
from barnabas_core.wire.error_code import ErrorCode
from tests.support.classic_consumer import ClassicConsumer
from tests.support.consumer_lab import GROUP, Consumer, ConsumerLab, Owned

STEPS: Final = 120
COUNT: Final = 6
ALL: Final = frozenset(("t", number) for number in range(COUNT))


class MixedWalk:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lab = ConsumerLab(
            {"t": COUNT}, initial_rebalance_delay_ms=0, max_session_timeout_ms=60_000
        )
        self.modern: list[Consumer] = []
        self.classic: list[ClassicConsumer] = []
        self.made = 0
        self.kinds: set[GroupType] = set()

    def run(self) -> None:
        for _ in range(STEPS):
            acts = {self.come: 6, self.go: 4, self.beat: 40, self.reload: 1}
            self.random.choices(list(acts), list(acts.values()))[0]()
            self.after_step()
            self.lab.check_replay()

    def after_step(self) -> None:
        self.lab.pass_time(self.random.choice((0, 100)))
        self.lab.do_jobs()
        for one in self.modern:
            one.take()
        self.take_joins()
        self.check()

    # --- what happens

    def come(self) -> None:
        self.made += 1
        if self.kinds and self.random.random() < 0.5:  # the first ones are classic
            if len(self.modern) < 3:
                self.modern.append(Consumer(self.lab, f"m{self.made}"))
        elif len(self.classic) < 3:
            self.classic.append(ClassicConsumer(self.lab, f"c{self.made}"))

    def go(self) -> None:
        if self.modern and self.random.random() < 0.6:
            self.modern.pop(self.random.randrange(len(self.modern))).leave()
        elif self.classic:
            one = self.classic.pop(self.random.randrange(len(self.classic)))
            if one.member_id:
                one.leave()

    def beat(self) -> None:
        if self.everybody():
            self.heartbeat(self.random.choice(self.everybody()))

    def everybody(self) -> list[Consumer | ClassicConsumer]:
        return [*self.modern, *self.classic]

    def heartbeat(self, one: Consumer | ClassicConsumer) -> None:
        if isinstance(one, Consumer):
            if one.call is None:
                one.post()
        elif one.call is None and (one.generation < 0 or self.must_join(one)):
            one.owned = frozenset()
            one.post_join()

    def must_join(self, one: ClassicConsumer) -> bool:
        error = one.beat()
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.forget(one)
        return error is not ErrorCode.NONE

    def forget(self, one: ClassicConsumer) -> None:
        one.member_id, one.generation, one.owned = "", -1, frozenset()

    def take_joins(self) -> None:
        for one in self.classic:
            if one.call is None or self.lab.is_waiting(one.call):
                continue
            one.take_join()
            if one.error is ErrorCode.UNKNOWN_MEMBER_ID:
                self.forget(one)
            elif one.error is ErrorCode.NONE:
                self.sync(one)
            else:
                one.generation = -1  # it tries again, under its id

    def sync(self, one: ClassicConsumer) -> None:
        """Who leads a classic generation assigns; others of it come when they are asked next."""
        group = self.lab.machine.state.groups[GROUP]
        is_early = isinstance(group, ClassicGroup) and group.state is not ClassicState.STABLE
        if is_early and not one.leads:
            one.generation = -1
            return
        shares: dict[str, Owned] = {
            member_id: frozenset(sorted(ALL)[place :: len(one.leads)])
            for place, member_id in enumerate(one.leads)
        }
        one.sync(shares)
        if one.error is not ErrorCode.NONE:
            one.generation = -1

    def reload(self) -> None:
        self.lab.reload()
        for modern in self.modern:
            if modern.call is not None:
                modern.lose_answer()
        for one in self.classic:
            if one.call is not None:
                one.call, one.generation = None, -1

    # --- what may never be

    def check(self) -> None:
        group = self.lab.machine.state.groups.get(GROUP)
        if group is not None:
            self.kinds.add(group.type)
        owned: dict[tuple[str, int], str] = {}
        everybody = [(one.member_id, one.partitions) for one in self.modern]
        everybody += [(one.name, one.owned) for one in self.classic]
        for name, partitions in everybody:
            for partition in partitions:
                other = owned.setdefault(partition, name)
                assert other == name, f"{partition}: {other} and {name}"

    def calm_down(self) -> None:
        """Nobody comes or goes; somebody modern is there, so it ends as a consumer group."""
        self.modern.append(Consumer(self.lab, "last"))
        for _ in range(30):
            for one in self.everybody():
                self.heartbeat(one)
                self.after_step()
            self.lab.pass_time(1_000)
            self.lab.check_replay()


@pytest.mark.parametrize("seed", range(12))
def test_groups_of_both_protocols_converge_and_nothing_is_owned_twice(seed: int) -> None:
    print(f"seed {seed}")
    walk = MixedWalk(seed)

    walk.run()
    walk.calm_down()

    assert walk.kinds == {GroupType.CLASSIC, GroupType.CONSUMER}
    owned = [one.partitions for one in walk.modern] + [one.owned for one in walk.classic]
    assert frozenset().union(*owned) == ALL
    assert walk.lab.group.state_name == "Stable"
    loads = [len(each) for each in owned]
    assert max(loads) - min(loads) <= 1
