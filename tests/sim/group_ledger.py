"""What clients of groups asked for and were told, and what must hold of it.

1. An offset that was acknowledged, or read, is not lost and not turned back: whoever asks for it
   afterwards reads it, or a later one. Nobody reads what nobody committed.
2. A partition is not told to one member of a consumer group while another has it: was told it, and
   has neither given it up, nor left, nor been silent for as long as a session lasts.
3. The epochs of a group, of its assignment and of its members, and the generations of a classic
   group, do not go back.
4. A member that is heard of is not thrown out. Nor does a coordinator let a member expire whose
   heartbeat its broker took in time, whatever became of the link between the two, and even if it
   was refused, as nothing could be written.

A broker that led the shard, and does not know yet that it does not, answers with what it knows, as
Kafka's does. So 1, 2 and 4 hold for answers of a broker that is the leader by the metadata when it
is asked and when it has answered ("certain" ones); that nobody reads what nobody committed, and
that the epochs which a member hears do not go back, hold for all.
"""

from dataclasses import dataclass, field

from tests.sim.invariant import check

SESSION_S = 3.0
REBALANCE_S = 6.0
PACE = 0.75
"""Clocks are fast by a third at most: to clients, nothing is over before so much of its time."""
PAUSE_S = 1.6
"""A heartbeat that a broker took so long ago has arrived, or the two are known to be apart."""


@dataclass(slots=True)
class GroupCount:
    commits: int = 0
    fetches: int = 0
    certain_fetches: int = 0
    heartbeats: int = 0
    joins: int = 0
    rebalances: int = 0
    """Members that were told another assignment."""
    revocations: int = 0
    generations: int = 0
    """Of classic groups, as their leaders saw them."""
    thrown_out: int = 0
    """Members that had been silent, or were too slow."""
    expired: int = 0
    """Sessions of members that came to their end in a coordinator."""
    uncertain: int = 0
    """Answers of brokers that led no more, or not yet."""
    sessions_opened: int = 0
    moves: int = 0
    """Sessions that another coordinator or another broker had before."""
    unwritable: int = 0
    """Coordinators that were told that they cannot write."""
    new_epochs: int = 0
    """Of the same leader, while its session went on."""
    described: int = 0
    at_home: int = 0
    """Runs with coordinators in the brokers' own processes."""


class OffsetLedger:
    """The offsets of one group in one partition: every commit is of a number higher than those that
    its committer knows of."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        self.acknowledged = 0

    def on_asked(self, offset: int) -> None:
        self.asked = max(self.asked, offset)

    def on_acknowledged(self, offset: int) -> None:
        self.acknowledged = max(self.acknowledged, offset)

    def on_read(self, offset: int, floor: int, *, is_certain: bool) -> None:
        """`floor`: what was acknowledged before anybody was asked."""
        check(offset <= self.asked, self.name, "has", offset, "that nobody committed")
        if is_certain:
            check(offset >= floor, self.name, "has", offset, "where", floor, "was acknowledged")
            self.acknowledged = max(self.acknowledged, offset)  # what is read is committed


@dataclass(slots=True)
class KnownMember:
    """What a member was told, by brokers that were certain to lead."""

    owned: dict[int, None] = field(default_factory=dict)
    heard_at: float = -1e9
    """When it sent the last request that was answered well."""
    revokes_since: float | None = None


class ConsumerLedger:
    """One group of the new protocol."""

    def __init__(self, name: str, count: GroupCount) -> None:
        self.name = name
        self._count = count
        self._members: dict[str, KnownMember] = {}
        self._epochs = (0, 0)

    def on_answered(self, member_id: str, sent_at: float) -> None:
        member = self._members.setdefault(member_id, KnownMember())
        member.heard_at = max(member.heard_at, sent_at)

    def on_told(self, member_id: str, partitions: list[int], now: float) -> None:
        """They are its own from now on."""
        for other_id, other in self._members.items():
            if other_id == member_id or not self._is_in(other, now):
                continue
            for partition in partitions:
                check(
                    partition not in other.owned,
                    f"{self.name}-{partition}",
                    f"was told to {member_id} while {other_id} has it",
                )
        owned = self._members.setdefault(member_id, KnownMember()).owned
        owned.update(dict.fromkeys(partitions))

    def on_must_revoke(self, member_id: str, now: float) -> None:
        member = self._members.setdefault(member_id, KnownMember())
        if member.revokes_since is None:
            member.revokes_since = now
        self._count.revocations += 1

    def on_given_up(self, member_id: str, partitions: list[int]) -> None:
        member = self._members.setdefault(member_id, KnownMember())
        member.revokes_since = None
        for partition in partitions:
            member.owned.pop(partition, None)

    def on_gone(self, member_id: str) -> None:
        """It has left, or is about to say so, or knows that it is thrown out."""
        self._members.pop(member_id, None)

    def on_thrown_out(self, member_id: str, now: float, *, lost_answers: int) -> None:
        """Who lost two answers may have missed an epoch, and is fenced for that, as with Kafka."""
        member = self._members.get(member_id)
        self._count.thrown_out += 1
        if member is not None and lost_answers < 2:
            check(not self._is_in(member, now), member_id, "of", self.name, "was thrown out")

    def _is_in(self, member: KnownMember, now: float) -> bool:
        """It cannot have been thrown out yet."""
        since = member.revokes_since
        is_quick = since is None or now - since < PACE * REBALANCE_S
        return is_quick and now - member.heard_at < PACE * SESSION_S

    def on_epochs(self, group_epoch: int, assignment_epoch: int) -> None:
        """As somebody was told by a broker that was certain to lead."""
        before = self._epochs
        check(group_epoch >= before[0], self.name, "is at epoch", group_epoch, "after", before[0])
        check(assignment_epoch >= before[1], self.name, "has an older assignment", assignment_epoch)
        self._epochs = (group_epoch, assignment_epoch)
