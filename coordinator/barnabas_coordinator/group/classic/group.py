"""A group of the classic protocol: its members, and how far they are.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable, and back to PreparingRebalance

While it prepares, JoinGroups wait until all members have come; the generation that begins then is
completed by the leader's SyncGroup, which brings what each member is assigned. Only then is the
group written down, and once more when its last member has gone. What happens in between is not
durable: a coordinator that loads the group finds the last generation that was completed, and the
members come again. So a group that is live goes its own way, and of a record that comes from its
own decision only takes note (`written`); see `replay`.

A group that only has offsets ("simple") is none of these until somebody joins it. Kafka's state
Dead is what is said of groups that are not there.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from barnabas_coordinator.group.classic.member import ClassicMember, Parked, Protocols
from barnabas_coordinator.group.classic.subscription import CONSUMER, subscribed_topics
from barnabas_coordinator.group.group_state import (
    Claim,
    DeadlineKey,
    GroupState,
    GroupType,
)
from barnabas_coordinator.shard.deadlines import Deadlines
from barnabas_coordinator.shard.decision import Env, Record
from barnabas_core.wire.codec import encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue

SESSION = "classic-session"
"""The kind of deadline by which a member must be heard of."""


class ClassicState(Enum):
    """As DescribeGroups names them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


class InitialDelay:
    """How the first rebalance of an empty group is put off for those who are about to come."""

    __slots__ = ("delay_ms", "has_new_member", "remaining_ms")

    def __init__(self, delay_ms: int, remaining_ms: int) -> None:
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms
        self.has_new_member = False


@dataclass(slots=True)
class ClassicGroup:
    group_id: str
    deadlines: Deadlines[DeadlineKey]
    """The shard's."""
    state: ClassicState = ClassicState.EMPTY
    state_since_ms: int | None = None
    """Wall time; not known of groups that very old versions wrote."""
    generation: int = 0
    protocol_type: str = ""
    """"consumer", "connect" and so on; none as long as nobody ever joined."""
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Member ids by group instance id."""
    pending_members: set[str] = field(default_factory=set)
    """Who was given an id and is to come with it (KIP-394)."""
    pending_syncs: dict[str, None] = field(default_factory=dict)
    """Members of this generation whose SyncGroup has not come, in order."""
    topics: frozenset[str] | None = None
    """Subscribed to; None: not known, or not consumers."""
    initial_delay: InitialDelay | None = None
    """While it prepares its first rebalance since it was empty."""
    written: GroupMetadataValue | None = None
    """The last record of it."""
    is_live: bool = False
    """Served, not only loaded: what is in memory counts, not what a record says."""
    awaiting_join_count: int = 0
    _supporters: Counter[str] = field(default_factory=Counter)
    """How many members support a protocol."""

    # --- what offsets and administrators want to know

    @property
    def type(self) -> GroupType:
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def member_count(self) -> int:
        return len(self.members)

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_of_consumers(self) -> bool:
        return self.protocol_type == CONSUMER

    def check_commit(self, claim: Claim, env: Env) -> ErrorCode:
        """A commit of a member is a sign of life as well."""
        error = self._commit_error(claim)
        if error is ErrorCode.NONE and not claim.is_transactional:
            self.touch(claim.member_id, env)
        return error

    def _commit_error(self, claim: Claim) -> ErrorCode:
        if claim.generation < 0 and self.is_empty:
            return ErrorCode.NONE  # an administrator, or a consumer that manages itself
        if claim.generation >= 0 or claim.member_id or claim.group_instance_id is not None:
            error = self.check_member(claim.member_id, claim.group_instance_id)
            if error is not ErrorCode.NONE:
                return error
            if claim.generation != self.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not claim.is_transactional and not self.is_empty:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not claim.is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            # It is of this generation, but does not know yet what is its own in it.
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def check_fetch(self, member_id: str, member_epoch: int) -> ErrorCode:
        return ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP

    def is_subscribed_to(self, topic: str) -> bool:
        """Consumers whose subscriptions cannot be read may be subscribed to anything."""
        return self.is_of_consumers if self.topics is None else topic in self.topics

    def durable(self) -> object:
        if self.written is None:
            return None
        return encode(self.written, GroupMetadataValue.MAX_VERSION)

    def tombstones(self) -> list[Record]:
        return [Record(GroupMetadataKey(group=self.group_id), None)]

    def offsets_expire_from_ms(self, committed_at_ms: int) -> int | None:
        """KIP-211. Whoever asks leaves out the topics that the group is subscribed to."""
        if not self.protocol_type:
            return committed_at_ms
        if self.is_empty:
            return committed_at_ms if self.state_since_ms is None else self.state_since_ms
        if self.topics is not None and self.state is ClassicState.STABLE:
            return committed_at_ms
        return None

    # --- members

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Whoever comes with an instance id is that instance only with the newest member id."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is not None and current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def touch(self, member_id: str, env: Env, timeout_ms: int | None = None) -> None:
        """It was heard of: its session, or the time given, begins anew."""
        member = self.members.get(member_id)
        if member is not None:
            length_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
            key = (SESSION, self.group_id, member_id)
            self.deadlines.set(key, env.monotonic_ms + length_ms)

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supporters.update(member.protocol_names())
        self.awaiting_join_count += member.join is not None
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """A member, or one who was about to be; the first of the others leads in its place."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._uncount(member)
            self.awaiting_join_count -= member.join is not None
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.pending_syncs.pop(member_id, None)
        self.deadlines.cancel((SESSION, self.group_id, member_id))

    def replace(self, old_id: str, new_id: str) -> ClassicMember:
        """A static member came back: the same member under another id, at the same place."""
        member = self.members[old_id]
        assert member.group_instance_id is not None
        member.member_id = new_id
        self.members = {one.member_id: one for one in self.members.values()}
        self.static_members[member.group_instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.pending_syncs:
            del self.pending_syncs[old_id]
        self.deadlines.cancel((SESSION, self.group_id, old_id))
        return member

    def set_protocols(self, member: ClassicMember, protocols: Protocols) -> None:
        self._uncount(member)
        member.protocols = protocols
        self._supporters.update(member.protocol_names())

    def _uncount(self, member: ClassicMember) -> None:
        for name in member.protocol_names():
            self._supporters[name] -= 1
            if not self._supporters[name]:
                del self._supporters[name]

    def park_join(self, member: ClassicMember, parked: Parked) -> None:
        self.awaiting_join_count += member.join is None
        member.join = parked

    def take_join(self, member: ClassicMember) -> Parked | None:
        """It is about to be answered."""
        parked, member.join = member.join, None
        self.awaiting_join_count -= parked is not None
        return parked

    def has_all_joined(self) -> bool:
        return self.awaiting_join_count == len(self.members) and not self.pending_members

    def rebalance_timeout_ms(self) -> int:
        return max((one.rebalance_timeout_ms for one in self.members.values()), default=0)

    # --- protocols

    def supports(self, protocol_type: str, names: tuple[str, ...]) -> bool:
        """Could a member with these be in the group?"""
        if self.is_empty:
            return bool(protocol_type and names)
        everybody = len(self.members)
        return protocol_type == self.protocol_type and any(
            self._supporters[name] == everybody for name in names
        )

    def select_protocol(self) -> str:
        """Of those that everybody supports, what most members like best; the first of equals."""
        everybody = len(self.members)
        candidates = frozenset(
            name for name, count in self._supporters.items() if count == everybody
        )
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=lambda name: votes[name])

    # --- going on

    def enter(self, state: ClassicState, env: Env) -> None:
        self.state = state
        self.state_since_ms = env.now_ms

    def begin_generation(self, env: Env) -> None:
        """With those who are here: the next step is the leader's."""
        self.generation += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.read_topics()
        self.enter(
            ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY,
            env,
        )
        self.pending_syncs.clear()

    def read_topics(self) -> None:
        self.topics = None
        if self.is_of_consumers:
            name = self.protocol_name
            self.topics = subscribed_topics(one.metadata(name) for one in self.members.values())


def classic_group(state: GroupState, group_id: str) -> ClassicGroup | None:
    """To be served: from here on the group is live."""
    group = state.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        return None
    group.is_live = True
    return group


def new_group(state: GroupState, group_id: str, env: Env) -> ClassicGroup:
    """Empty: for the first who joins."""
    group = ClassicGroup(group_id, state.deadlines, state_since_ms=env.now_ms)
    state.groups[group_id] = group
    return group
