"""Brokers and coordinators with one mistake each in what they do for groups.

Each is a patch of the product's own code, which the simulator must find.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from barnabas_broker.shards.awaited_answers import AwaitedAnswers
from barnabas_broker.shards.shard_owner import ShardOwner, Waiting
from barnabas_broker.shards.shards import Shards
from barnabas_coordinator import session
from barnabas_coordinator.group.consumer import heartbeat_answer, metadata_watch
from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.reconciliation import Goal, reconcile
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Decision, Env, Request
from barnabas_coordinator.shard.shard import NO_OFFSET, Shard
from barnabas_core.links.shard_message import Outcome, ShardAnswer
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode

Variant = Callable[[], AbstractContextManager[object]]


# --- owners


def answers_before_the_commit() -> AbstractContextManager[object]:
    def at_once(self: AwaitedAnswers, waiting: Waiting, answer: ShardAnswer) -> None:
        waiting.done(bytes(answer.body))

    return patch.object(AwaitedAnswers, "add", at_once)


def takes_the_end_of_an_epoch_for_a_commit() -> AbstractContextManager[object]:
    def well(self: AwaitedAnswers, token: int, error: ErrorCode) -> None:
        self.on_written(token)

    return patch.object(AwaitedAnswers, "on_write_failed", well)


def keeps_its_session_when_another_broker_has_led() -> AbstractContextManager[object]:
    """And appends wherever the log ends: what the other one wrote is unknown to the coordinator."""
    append = ShardOwner._append

    def anywhere(self: ShardOwner, outcome: Outcome) -> bool:
        return append(self, outcome._replace(base_offset=self.partition.log.staged_end_offset))

    def keep_all(self: Shards) -> None:
        for index in range(self.count):
            partition = self._on.partitions.find(self.topic, index)
            if partition is None or not partition.is_leader or partition.log.is_offline:
                continue
            if index in self._owners:
                self._owners[index].on_metadata()
            else:
                self._owners[index] = ShardOwner(partition, self._on.owner)
        self._changed.set()

    stack = ExitStack()
    stack.enter_context(patch.object(ShardOwner, "_append", anywhere))
    stack.enter_context(patch.object(Shards, "apply", keep_all))
    return stack


# --- sessions


def members_expire_over_a_cut_link() -> AbstractContextManager[object]:
    return patch.object(session, "_IN_TOUCH_MS", -1)


def deadlines_are_not_armed_when_a_shard_is_loaded() -> AbstractContextManager[object]:
    return patch.object(metadata_watch, "_arm", lambda *_: None)


def members_pay_for_a_move() -> AbstractContextManager[object]:
    """Their sessions end soon after it."""
    arm = metadata_watch._arm

    def soon(state: GroupState, group: ConsumerGroup, env: Env) -> None:
        arm(state, group, env._replace(monotonic_ms=env.monotonic_ms - 2_900))

    return patch.object(metadata_watch, "_arm", soon)


def members_pay_for_what_was_refused() -> AbstractContextManager[object]:
    """When records can be written again they have what was left of their sessions."""
    return patch.object(GroupShard, "on_writable", lambda *_: None)


def loads_with_whatever_it_knows() -> AbstractContextManager[object]:
    """Be it nothing: whoever has just started takes all topics for deleted."""

    async def at_once(self: session.Session) -> bool:
        self._image = self._on.image()
        return True

    return patch.object(session.Session, "_catch_up", at_once)


def reads_do_not_wait() -> AbstractContextManager[object]:
    """They tell of what is decided, committed or not."""
    take = Shard._take

    def without(self: Shard, decisions: list[Decision], env: Env, turn: Any, builder: Any) -> None:  # noqa: ANN401
        for decision in decisions:
            before = len(turn.due)
            take(self, [decision], env, turn, builder)
            if not decision.records:
                turn.due[before:] = [
                    one._replace(depends_on=NO_OFFSET) for one in turn.due[before:]
                ]

    return patch.object(Shard, "_take", without)


# --- decisions


def acknowledges_without_a_record() -> AbstractContextManager[object]:
    decide = GroupShard.decide

    def forgetful(self: GroupShard, request: Request, env: Env) -> list[Decision]:
        decisions = decide(self, request, env)
        if request.api_key == ApiKey.OFFSET_COMMIT and request.call % 5 == 0:
            for decision in decisions:
                decision.records.clear()
        return decisions

    return patch.object(GroupShard, "decide", forgetful)


def does_not_wait_for_revocations() -> AbstractContextManager[object]:
    def reckless(member: Any, goal: Goal, owned: Any, _: Any) -> Any:  # noqa: ANN401
        return reconcile(member, goal, owned, lambda *_: None)

    return patch.object(heartbeat_answer, "reconcile", reckless)


def _named(*variants: Variant) -> dict[str, Variant]:
    return {variant.__name__: variant for variant in variants}


VARIANTS = _named(
    acknowledges_without_a_record,
    does_not_wait_for_revocations,
    answers_before_the_commit,
    members_pay_for_a_move,
    deadlines_are_not_armed_when_a_shard_is_loaded,
)
RARE_VARIANTS = _named(
    takes_the_end_of_an_epoch_for_a_commit,
    keeps_its_session_when_another_broker_has_led,
    members_expire_over_a_cut_link,
    members_pay_for_what_was_refused,
    reads_do_not_wait,
    loads_with_whatever_it_knows,
)
