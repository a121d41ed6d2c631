"""The state of one shard of groups, which all parts of the coordinator share.

Parts: `classic` and `consumer` (groups of the two protocols), `offsets`, `admin`. A part is a table
of functions over this state; `group_shard` puts the tables together. Only replaying changes what is
durable; see `shard.decision`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.shard.deadlines import Deadlines
from barnabas_coordinator.shard.decision import Decision, Env, Record, Request
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

if TYPE_CHECKING:
    from barnabas_coordinator.group.group_counts import GroupCounts
    from barnabas_coordinator.group.offsets.offset_store import OffsetStore


class GroupType(Enum):
    """As ListGroups names them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class Claim:
    """As whom somebody commits or fetches offsets."""

    member_id: str
    group_instance_id: str | None
    generation: int
    """Of a classic group; of a consumer group it is the member epoch."""
    api_version: int
    is_transactional: bool = False


class Group(Protocol):
    """What offsets and administrators want to know of a group, whatever its protocol."""

    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state_name(self) -> str:
        """Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, Assigning,
        Reconciling."""
        ...

    @property
    def protocol_type(self) -> str: ...

    @property
    def is_empty(self) -> bool:
        """No members."""
        ...

    @property
    def member_count(self) -> int: ...

    def check_commit(self, claim: Claim, env: Env) -> ErrorCode:
        """May it commit offsets?"""
        ...

    def check_fetch(self, member_id: str, member_epoch: int) -> ErrorCode:
        """May it read them? (Only members of consumer groups say who they are.)"""
        ...

    def check_delete(self) -> ErrorCode:
        """May the group be deleted?"""
        ...

    def is_subscribed_to(self, topic: str) -> bool: ...

    def durable(self) -> object:
        """All that replaying must bring back, to be compared with `==`."""
        ...

    def tombstones(self) -> list[Record]:
        """All of its own records, deleted; its offsets are not among them."""
        ...

    def offsets_expire_from_ms(self, committed_at_ms: int) -> int | None:
        """From when on an offset's retention counts; None: not at present (KIP-211)."""
        ...


DeadlineKey = tuple[str, str, str]
"""(kind, group id, member id or the like). A kind belongs to one part."""


@dataclass(slots=True)
class GroupState:
    settings: GroupSettings
    offsets: "OffsetStore"
    counts: "GroupCounts"
    """Not of this shard alone."""
    groups: dict[str, Group] = field(default_factory=dict)
    deadlines: Deadlines[DeadlineKey] = field(default_factory=Deadlines)
    """In monotonic time."""


Handler = Callable[[GroupState, Request, Env], Sequence[Decision]]
Replayer = Callable[[GroupState, Any, Any, Env], None]
"""(state, key, value or None, env)"""
OnDeadline = Callable[[GroupState, DeadlineKey, Env], Sequence[Decision]]


def _nothing(*_: object) -> Sequence[Decision]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part's functions over the state."""

    handlers: Mapping[int, Handler] = field(default_factory=dict)
    """By api key."""
    classic_handlers: Mapping[int, Handler] = field(default_factory=dict)
    """By api key, for classic requests to a group that is a consumer group (KIP-848 migration)."""
    replayers: Mapping[type[Message], Replayer] = field(default_factory=dict)
    """By the class of the record's key."""
    on_deadline: Mapping[str, OnDeadline] = field(default_factory=dict)
    """By kind."""
    on_loaded: Callable[[GroupState, Env], Sequence[Decision]] = _nothing
    arm_members: Callable[[GroupState, Env], None] | None = None
    """Every deadline by which a member must be heard of, with its full length."""
    on_image: Callable[[GroupState, Image, Env], Sequence[Decision]] = _nothing
    """(state, the image before, env with the new one)"""
    on_done: Mapping[str, Callable[[GroupState, str, Any, Env], Sequence[Decision]]] = field(
        default_factory=dict
    )
    """By what a job's key begins with, up to the first colon: (state, key, outcome, env)."""
    on_call_lost: Callable[[GroupState, int], None] | None = None
