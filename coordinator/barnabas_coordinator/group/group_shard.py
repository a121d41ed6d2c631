"""One shard of the group coordinator: the parts put together. A `Machine`."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from barnabas_coordinator.group.admin.part import ADMIN
from barnabas_coordinator.group.classic.part import CLASSIC
from barnabas_coordinator.group.consumer.part import CONSUMER
from barnabas_coordinator.group.consumer.settled import is_plain_heartbeat
from barnabas_coordinator.group.group_counts import GroupCounts
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupState, GroupType, Handler, Part
from barnabas_coordinator.group.offsets.offset_load import load_offset
from barnabas_coordinator.group.offsets.offset_store import OffsetStore
from barnabas_coordinator.group.offsets.part import OFFSETS
from barnabas_coordinator.group.offsets.transaction import (
    complete_transaction,
    replay_pending,
    see_producer,
)
from barnabas_coordinator.shard.decision import BatchForm, Decision, Env, Producer, Request
from barnabas_coordinator.shard.record_codec import GROUP_KINDS, decode_record, kinds_of
from barnabas_core.metadata.image import Image
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.control import EndTransaction
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from barnabas_core.wire.schema import Message

PARTS: Final[tuple[Part, ...]] = (CLASSIC, CONSUMER, OFFSETS, ADMIN)
_HANDLERS: Final = {key: one for part in PARTS for key, one in part.handlers.items()}
_CLASSIC: Final = {key: one for part in PARTS for key, one in part.classic_handlers.items()}
_REPLAYERS: Final = {kind: one for part in PARTS for kind, one in part.replayers.items()}
_DEADLINES: Final = {kind: one for part in PARTS for kind, one in part.on_deadline.items()}
_DONE: Final = {kind: one for part in PARTS for kind, one in part.on_done.items()}

SERVED: Final = tuple(sorted(_HANDLERS))
"""The api keys that it answers."""
READS: Final = frozenset(
    (
        ApiKey.HEARTBEAT,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
    )
)
"""Those about which there is never anything to write."""


class GroupShard:
    def __init__(self, settings: GroupSettings, counts: GroupCounts | None = None) -> None:
        self.state = GroupState(settings, OffsetStore(), counts or GroupCounts())
        self._kinds = kinds_of(GROUP_KINDS)
        self.batch_form = BatchForm(settings.batch_bytes_max, settings.compression)

    def load(self, key: Buffer, value: Buffer | None, env: Env) -> None:
        """`replay` from bytes, the quick way where there is one. Raises as `decode_record` does."""
        if not load_offset(self.state.offsets, key, value):
            record = decode_record(self._kinds, key, value)
            self.replay(record.key, record.value, env)

    def replay(self, key: Message, value: Message | None, env: Env) -> None:
        replayer = _REPLAYERS.get(type(key))
        if replayer is not None:  # a kind of group that this version does not serve: left alone
            replayer(self.state, key, value, env)

    def replay_pending(
        self, key: Message, value: Message | None, producer: Producer, env: Env
    ) -> None:
        """A record of a transaction, which `on_marker` ends; only offsets are committed in one."""
        if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue | None):
            replay_pending(self.state, key, value, producer, env)

    def load_pending(self, key: Buffer, value: Buffer | None, producer: Producer, env: Env) -> None:
        record = decode_record(self._kinds, key, value)
        self.replay_pending(record.key, record.value, producer, env)

    def on_producer(self, producer: Producer, env: Env) -> None:
        see_producer(self.state, producer, env)

    def on_marker(self, producer: Producer, marker: EndTransaction, env: Env) -> None:
        """The control record that ends a transaction, replayed."""
        complete_transaction(self.state, producer, marker, env)

    def on_loaded(self, env: Env) -> list[Decision]:
        return _all(part.on_loaded(self.state, env) for part in PARTS)

    def on_writable(self, env: Env) -> None:
        for part in PARTS:
            if part.arm_members is not None:
                part.arm_members(self.state, env)

    def would_write(self, request: Request, env: Env) -> bool:
        if request.api_key == ApiKey.CONSUMER_GROUP_HEARTBEAT:
            return not is_plain_heartbeat(self.state, request)
        return request.api_key not in READS

    def decide(self, request: Request, env: Env) -> list[Decision]:
        decisions = list(self._handler(request)(self.state, request, env))
        self.state.counts.on_request(request.api_key, decisions)
        return decisions

    def _handler(self, request: Request) -> Handler:
        classic = _CLASSIC.get(request.api_key)
        if classic is not None:
            group = self.state.groups.get(getattr(request.message, "group_id", ""))
            if group is not None and group.type is GroupType.CONSUMER:
                return classic
        return _HANDLERS[request.api_key]

    def next_deadline_ms(self) -> int | None:
        return self.state.deadlines.next_ms()

    def on_timer(self, env: Env) -> list[Decision]:
        due = self.state.deadlines.pop_due(env.monotonic_ms)
        decisions = _all(_DEADLINES[key[0]](self.state, key, env) for key in due)
        self.state.counts.on_timer(decisions)
        return decisions

    def on_image(self, before: Image, env: Env) -> list[Decision]:
        decisions = _all(part.on_image(self.state, before, env) for part in PARTS)
        self.state.counts.on_other(decisions)
        return decisions

    def on_done(self, key: str, outcome: Any, env: Env) -> list[Decision]:  # noqa: ANN401
        kind, _, _ = key.partition(":")
        decisions = list(_DONE[kind](self.state, key, outcome, env))
        self.state.counts.on_other(decisions)
        return decisions

    def on_call_lost(self, call: int) -> None:
        for part in PARTS:
            if part.on_call_lost is not None:
                part.on_call_lost(self.state, call)


def _all(decisions: Iterable[Sequence[Decision]]) -> list[Decision]:
    return [decision for some in decisions for decision in some]
