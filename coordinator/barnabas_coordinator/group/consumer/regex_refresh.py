"""Regular expressions are matched as a job, when somebody brings a new one or topics change."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.group_records import regex_record
from barnabas_coordinator.group.consumer.heartbeat_answer import answer_parked
from barnabas_coordinator.group.consumer.target_assignment import (
    bumped,
    maybe_assign,
)
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex, matching
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Decision, Env, Job, Record

REGEX_DEADLINE: Final = "consumer-regex"
MIN_INTERVAL_MS: Final = 10_000
"""Between two refreshes because of topics, however often these change."""


class Matches(NamedTuple):
    version: int
    topics: Mapping[str, frozenset[str]]
    """By expression."""


def resolve(group: ConsumerGroup, regexes: frozenset[str], env: Env) -> list[Job]:
    """Unless it is under way: whatever that leaves out is done after it."""
    if group.resolving is not None or not regexes:
        return []
    group.resolving = regexes
    names = tuple(env.image.topics.id_by_name)
    run = partial(_run, env.image.provenance.offset, tuple(sorted(regexes)), names)
    return [Job(f"regex:{group.group_id}", run)]


def _run(version: int, regexes: tuple[str, ...], names: tuple[str, ...]) -> Matches:
    return Matches(version, matching(regexes, names))


def refresh_soon(state: GroupState, group: ConsumerGroup, env: Env) -> None:
    """Topics came or went."""
    last_ms = group.resolved_at_ms
    at_ms = env.monotonic_ms if last_ms is None else last_ms + MIN_INTERVAL_MS
    key = (REGEX_DEADLINE, group.group_id, "")
    state.deadlines.set(key, max(at_ms, env.monotonic_ms))


def on_regex_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    group = state.groups.get(key[1])
    if not isinstance(group, ConsumerGroup):
        return ()
    jobs = resolve(group, group.regexes_in_use(), env)
    return [Decision([group.group_id], jobs=jobs)] if jobs else ()


def on_resolved(state: GroupState, key: str, outcome: Any, env: Env) -> Sequence[Decision]:  # noqa: ANN401
    group = state.groups.get(key.partition(":")[2])
    if not isinstance(group, ConsumerGroup) or group.resolving is None:
        return ()
    assert isinstance(outcome, Matches)
    group.resolving = None
    group.resolved_at_ms = env.monotonic_ms
    used = group.regexes_in_use()
    decision = Decision([group.group_id])
    found = _news(group, used, outcome, env)
    if found:
        records: list[Record] = [
            regex_record(group.group_id, regex, one) for regex, one in sorted(found.items())
        ]
        change, epoch_records = bumped(group, group.members, {**group.regexes, **found}, env)
        decision.records += records + epoch_records
        decision.jobs += maybe_assign(state, group, change, env)
    decision.jobs += resolve(group, used - group.regexes.keys() - found.keys(), env)
    if used:
        interval_ms = state.settings.consumer_regex_refresh_interval_ms
        key_of = (REGEX_DEADLINE, group.group_id, "")
        if key_of not in state.deadlines:
            state.deadlines.set(key_of, env.monotonic_ms + interval_ms)
    if not found and not decision.jobs and group.epoch <= group.assignment_epoch:
        # Nothing that anybody waited for will come of it.
        answer_parked(state, group, group.assignment_epoch, group.targets, decision, env)
    return [decision]


def _news(
    group: ConsumerGroup, used: frozenset[str], outcome: Matches, env: Env
) -> dict[str, ResolvedRegex]:
    """Those that match other topics than they did; none of which nobody subscribes any more."""
    found: dict[str, ResolvedRegex] = {}
    for regex, topics in outcome.topics.items():
        old = group.regexes.get(regex)
        if regex in used and (old is None or old.topics != topics):
            found[regex] = ResolvedRegex(topics, outcome.version, env.now_ms)
    return found
