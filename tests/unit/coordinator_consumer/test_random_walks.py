"""Members, topics and coordinators come, go and fail at random; what may never be is looked for.

At every step: no two clients consume a partition at once, epochs of the group and of its members
never go back, and the log alone brings back what is durable. When it is quiet, the group converges.
"""

from random import Random
from typing import Final

import pytest

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.member import STATIC_LEAVE_EPOCH
from tests.support.consumer_lab import GROUP, Consumer, ConsumerLab, settle

STEPS: Final = 250
TOPICS: Final = ("t", "u", "v")


class Walk:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lab = ConsumerLab(
            {"t": 4, "u": 2}, consumer_assignment_interval_ms=self.random.choice((0, 0, 1_000))
        )
        self.clients: list[Consumer] = []
        self.silent_ms: dict[str, int] = {}
        self.made = 0
        self.group_epoch = 0
        self.member_epochs: dict[str, int] = {}

    def run(self) -> None:
        for _ in range(STEPS):
            self.step()
            self.check()

    def step(self) -> None:
        acts = {
            self.join: 6,
            self.beat: 30,
            self.jobs: 15,
            self.time: 15,
            self.revoke: 8,
            self.lose: 4,
            self.leave: 2,
            self.crash: 1,
            self.come_and_go: 2,
            self.topics: 2,
            self.subscribe: 3,
            self.reload: 1,
        }
        self.random.choices(list(acts), list(acts.values()))[0]()
        for one in self.clients:
            one.take()

    # --- what may happen

    def join(self) -> None:
        if len(self.clients) < 6:
            self.made += 1
            instance = f"i{self.made}" if self.random.random() < 0.3 else None
            self.clients.append(self.client(f"m{self.made}", instance))

    def client(self, member_id: str, instance_id: str | None) -> Consumer:
        return Consumer(
            self.lab,
            member_id,
            tuple(self.random.sample(TOPICS, self.random.randint(1, 3))),
            instance_id,
            self.random.choice((None, "uniform", "range")),
            rebalance_timeout_ms=60_000,
            is_slow=self.random.random() < 0.5,
        )

    def beat(self) -> None:
        idle = [one for one in self.clients if one.call is None]
        if idle:
            one = self.random.choice(idle)
            one.post()
            self.silent_ms[one.member_id] = 0

    def jobs(self) -> None:
        if self.lab.jobs:
            job = self.lab.jobs.pop(0)
            self.lab._take(self.lab.machine.on_done(job.key, job.run(), self.lab.env))

    def time(self) -> None:
        """Those alive are never silent for a session: whoever is, is dead."""
        ms = self.random.choice((10, 500, 3_000))
        for one in self.clients:
            self.silent_ms[one.member_id] = self.silent_ms.get(one.member_id, 0) + ms
            if self.silent_ms[one.member_id] > 30_000:
                one.lose_answer()
                one.post()
                self.silent_ms[one.member_id] = 0
        self.lab.pass_time(ms)

    def revoke(self) -> None:
        if self.clients:
            self.random.choice(self.clients).revoke()

    def lose(self) -> None:
        if self.clients:
            self.random.choice(self.clients).lose_answer()

    def leave(self) -> None:
        if self.clients:
            self.clients.pop(self.random.randrange(len(self.clients))).leave()

    def crash(self) -> None:
        if self.clients:
            self.clients.pop(self.random.randrange(len(self.clients)))

    def come_and_go(self) -> None:
        """A static member is restarted."""
        for place, one in enumerate(self.clients):
            if one.instance_id is not None and one.epoch > 0 and one.call is None:
                one.leave(STATIC_LEAVE_EPOCH)
                self.made += 1
                self.clients[place] = self.client(f"m{self.made}", one.instance_id)
                break

    def topics(self) -> None:
        name = self.random.choice(TOPICS)
        topic = self.lab.image.topics.named(name)
        if topic is None:
            self.lab.add_topic(name, self.random.randint(1, 5), self.random.randbytes(16))
        elif self.random.random() < 0.4:
            self.lab.remove_topic(name)
        elif len(topic.partitions) < 12:
            self.lab.grow_topic(name, len(topic.partitions) + self.random.randint(1, 3))

    def subscribe(self) -> None:
        if self.clients:
            one = self.random.choice(self.clients)
            one.topics = tuple(self.random.sample(TOPICS, self.random.randint(1, 3)))

    def reload(self) -> None:
        self.lab.reload()
        for one in self.clients:
            if one.call is not None:
                one.lose_answer()

    # --- what may never be

    def check(self) -> None:
        self.lab.check_replay()
        self.check_owned_once()
        group = self.lab.machine.state.groups.get(GROUP)
        if group is None:
            return
        assert isinstance(group, ConsumerGroup)
        assert group.epoch >= self.group_epoch, "the group's epoch went back"
        assert group.assignment_epoch <= group.epoch
        self.group_epoch = group.epoch
        for member_id, member in group.members.items():
            before = self.member_epochs.get(member_id, 0)
            if member.epoch != STATIC_LEAVE_EPOCH:
                assert member.epoch >= before, f"the epoch of {member_id} went back"
                assert member.epoch <= group.assignment_epoch
                self.member_epochs[member_id] = member.epoch

    def check_owned_once(self) -> None:
        owned: dict[tuple[bytes, int], str] = {}
        for one in self.clients:
            for partition in one.owned:
                other = owned.setdefault(partition, one.member_id)
                assert other == one.member_id, f"{partition}: {other} and {one.member_id}"

    def calm_down(self) -> None:
        for one in self.clients:
            one.is_slow = False
            one.revoke()
        # Long enough for the sessions of those who died.
        for _ in range(14):
            settle(self.lab, *self.clients, rounds=4)
            self.check()

    def check_converged(self) -> None:
        wanted = {
            (topic.id, number)
            for topic in self.lab.image.topics
            if any(topic.name in one.topics for one in self.clients)
            for number in topic.partitions
        }
        assert {partition for one in self.clients for partition in one.owned} == wanted
        if self.clients:
            assert self.lab.group.state_name == "Stable"
            assert self.lab.group.members.keys() == {one.member_id for one in self.clients}


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_owned_twice_and_groups_converge(seed: int) -> None:
    print(f"seed {seed}")
    walk = Walk(seed)

    walk.run()
    walk.calm_down()

    walk.check_converged()
