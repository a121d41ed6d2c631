"""A consumer group (KIP-848): its members, what each shall have, and what each has.

Three epochs count. The group's goes up when members, subscriptions or topics change; the one of the
target assignment follows when that has been computed; and every member follows in its own time, by
`reconciliation`. A new group begins at 1 with nothing assigned, so that a member is never told 0,
which would ask it to join (KIP-1263).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas_coordinator.group.consumer.group_records import (
    group_tombstones,
    partition_metadata_tombstone,
)
from barnabas_coordinator.group.consumer.member import (
    NO_PARTITIONS,
    Held,
    Member,
    MemberState,
    Partitions,
)
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex
from barnabas_coordinator.group.group_state import Claim, GroupType
from barnabas_coordinator.shard.decision import Env, Record
from barnabas_core.wire.error_code import ErrorCode

FIRST_EPOCH = 1
FIRST_COMMIT_VERSION = 9
"""OffsetCommit in which a member epoch may stand in the place of a generation."""


class Parked(NamedTuple):
    """A heartbeat whose answer waits for the assignment that is being computed."""

    call: int
    member_id: str
    owned: Partitions | None
    assigned_before: Held
    is_full: bool
    classic_protocol: str | None = None
    """Set: it is a JoinGroup of a member that speaks the classic protocol."""


@dataclass(slots=True)
class ConsumerGroup:
    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assigned_at_ms: int = 0
    """When the target assignment was computed, in wall time; 0 if it never was."""
    members: dict[str, Member] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    has_partition_metadata: bool = False
    """An older release wrote such a record: it is to go with the group."""

    # What follows from the above.
    statics: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id."""
    owners: dict[bytes, dict[int, str]] = field(default_factory=dict)
    """Who has a partition, or has still to give it up."""
    _subscribed: frozenset[str] | None = None

    # Not durable.
    changed_at_ms: int = 0
    """When its epoch or its target assignment last changed, in monotonic time."""
    computing_epoch: int | None = None
    """Of the group, which the assignment under way is for."""
    resolving: frozenset[str] | None = None
    """The regular expressions that are being matched."""
    resolved_at_ms: int | None = None
    """In monotonic time."""
    parked: list[Parked] = field(default_factory=list)

    # --- what others want to know (`group_state.Group`)

    @property
    def type(self) -> GroupType:
        return GroupType.CONSUMER

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def member_count(self) -> int:
        return len(self.members)

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    def check_commit(self, claim: Claim, env: Env) -> ErrorCode:
        # Of an administrator, or of a consumer that manages its partitions itself.
        if claim.generation < 0 and not self.members:
            return ErrorCode.NONE
        member = self.members.get(claim.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_modern = member.classic is None
        if is_modern and not claim.is_transactional and claim.api_version < FIRST_COMMIT_VERSION:
            return ErrorCode.UNSUPPORTED_VERSION
        return _check_epoch(member, claim.generation)

    def check_commit_of(self, claim: Claim, topic_id: bytes, partition: int) -> ErrorCode:
        """Where `check_commit` finds the epoch stale: good for what it had then and has still."""
        member = self.members.get(claim.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if claim.generation == member.epoch:
            return ErrorCode.NONE
        since = member.held_since(topic_id, partition)
        if (
            member.classic is None
            and since is not None
            and since <= claim.generation < member.epoch
        ):
            return ErrorCode.NONE
        return _check_epoch(member, claim.generation)

    def check_fetch(self, member_id: str, member_epoch: int) -> ErrorCode:
        # Nobody in particular asks: an administrator, or a client that does not say who it is.
        if not member_id and member_epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return _check_epoch(member, member_epoch)

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    def durable(self) -> object:
        return (
            (self.group_id, self.epoch, self.metadata_hash),
            (self.assignment_epoch, self.assigned_at_ms),
            (self.members, self.targets, self.regexes, self.has_partition_metadata),
            (self.statics, self.owners),
        )

    def tombstones(self) -> list[Record]:
        found = group_tombstones(self.group_id, self.targets, self.members, self.regexes)
        if self.has_partition_metadata:
            found.insert(-1, partition_metadata_tombstone(self.group_id))
        return found

    def offsets_expire_from_ms(self, committed_at_ms: int) -> int | None:
        return committed_at_ms

    # --- for deciding

    def target_of(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, NO_PARTITIONS)

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        return self.owners.get(topic_id, {}).get(partition)

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self.statics.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def subscribed_topics(self) -> frozenset[str]:
        if self._subscribed is None:
            self._subscribed = topics_of(self.members, self.regexes)
        return self._subscribed

    def regexes_in_use(self) -> frozenset[str]:
        found = {member.topic_regex for member in self.members.values()}
        return frozenset(found - {""})

    # --- replaying

    def put_member(self, member: Member) -> None:
        old = self.members.get(member.member_id)
        if old is not None:
            self._release(old)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.statics[member.instance_id] = member.member_id
        for held in (member.assigned, member.revoking):
            for topic_id, numbers in held.items():
                owners = self.owners.setdefault(topic_id, {})
                owners.update(dict.fromkeys(numbers, member.member_id))
        self._subscribed = None

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._release(member)
        if member.instance_id is not None and self.statics.get(member.instance_id) == member_id:
            del self.statics[member.instance_id]
        self._subscribed = None

    def put_regex(self, regex: str, found: ResolvedRegex | None) -> None:
        if found is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = found
        self._subscribed = None

    def _release(self, member: Member) -> None:
        # In a compacted log the next owner may come before the record that gave a partition up.
        for held in (member.assigned, member.revoking):
            for topic_id, numbers in held.items():
                owners = self.owners.get(topic_id, {})
                for number in numbers:
                    if owners.get(number) == member.member_id:
                        del owners[number]
                if not owners:
                    self.owners.pop(topic_id, None)


def _check_epoch(member: Member, epoch: int) -> ErrorCode:
    if epoch == member.epoch:
        return ErrorCode.NONE
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH


def topics_of(
    members: Mapping[str, Member], regexes: Mapping[str, ResolvedRegex]
) -> frozenset[str]:
    """The names of all topics that a group's members are subscribed to."""
    used = {member.topic_regex for member in members.values()}
    return frozenset().union(
        *(member.topic_names for member in members.values()),
        *(found.topics for regex, found in regexes.items() if regex in used),
    )


def topics_of_member(member: Member, regexes: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    found = regexes.get(member.topic_regex) if member.topic_regex else None
    return member.topic_names if found is None else member.topic_names | found.topics


def is_revoking(member: Member) -> bool:
    return member.state is MemberState.UNREVOKED_PARTITIONS
