"""One decision about one classic group, while it is being made."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Record


class Turn(NamedTuple):
    group: ClassicGroup
    settings: GroupSettings
    env: Env
    decision: Decision

    def answer(self, answer: Answer) -> None:
        self.decision.answers.append(answer)

    def write(self, record: Record) -> None:
        self.decision.records.append(record)

    def arm(self, kind: str, in_ms: int) -> None:
        """A deadline of the group."""
        key = (kind, self.group.group_id, "")
        self.group.deadlines.set(key, self.env.monotonic_ms + in_ms)

    def cancel(self, kind: str) -> None:
        self.group.deadlines.cancel((kind, self.group.group_id, ""))


def begin_turn(state: GroupState, group: ClassicGroup, env: Env) -> Turn:
    return Turn(group, state.settings, env, Decision([group.group_id]))


def answer_only(group_id: str, answer: Answer) -> Sequence[Decision]:
    return [Decision([group_id], answers=[answer])]
