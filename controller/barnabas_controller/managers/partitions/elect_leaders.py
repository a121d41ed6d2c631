"""ElectLeaders (key 43), served v0-v2: preferred or, if asked for, unclean elections.

v1 brought unclean elections and an error for the whole request. An unclean election that somebody
asks for needs no config: to ask is to accept the loss.

Timers ask for elections too: back to the preferred leader, and out of having none. These decisions
take a bounded number of steps and answer whether there may be more to do at once.
"""

from collections.abc import Iterator
from typing import Final

from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.partitions.election import Election
from barnabas_controller.managers.partitions.refusal import TOO_LARGE, Refused
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.elect_leaders_request import ElectLeadersRequest
from barnabas_core.wire.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_BY_TYPE: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
MAX_ELECTIONS: Final = 1_000
"""In one decision."""


def decide_elect_leaders(
    view: View, request: ElectLeadersRequest, context: Context
) -> Result[ElectLeadersResponse]:
    changes = PartitionChanges(view)
    election = _BY_TYPE.get(request.election_type)
    if election is None:
        reason = f"Unknown election type {request.election_type}"
        return _refused(request, context, Refused(ErrorCode.INVALID_REQUEST, reason))
    try:
        results = [
            _elect_topic(changes, election, topic, numbers, says_all=says_all)
            for topic, numbers, says_all in _asked(view, request)
        ]
    except Refused as refused:
        return _refused(request, context, refused)
    return Result(changes.records, ElectLeadersResponse(replica_election_results=results))


def decide_balance_leaders(view: View) -> Result[bool]:
    """Partitions of brokers that lead too few of those that prefer them go back to them.

    A broker is left alone while at most `leader.imbalance.per.broker.percentage` of the partitions
    that it is the first replica of are led by others.
    """
    changes = PartitionChanges(view)
    for broker_id, broker in view.image.cluster.brokers.items():
        if not broker.is_active:
            continue
        for key in _imbalanced(view, broker_id):
            if len(changes.records) >= MAX_ELECTIONS:
                return Result(changes.records, response=True)
            # Spares working out that nothing changes, of all that a broker was away for.
            if broker_id in changes.at(key).isr:
                changes.change(key, Target(Election.PREFERRED))
    return Result(changes.records, response=False)


def decide_unclean_elections(view: View) -> Result[bool]:
    """Partitions without a leader, where a lossy one is preferred to none.

    They are found by this timer when the config changed after they lost their leader.
    """
    changes = PartitionChanges(view)
    for key in view.replicas.leaderless():
        if len(changes.records) >= MAX_ELECTIONS:
            return Result(changes.records, response=True)
        if changes.rules(key).allows_unclean:
            changes.change(key, Target(Election.UNCLEAN))
    return Result(changes.records, response=False)


def _asked(view: View, request: ElectLeadersRequest) -> Iterator[tuple[str, list[int], bool]]:
    """(topic, partitions, is each to be answered)"""
    if request.topic_partitions is None:
        for topic in view.image.topics:
            yield topic.name, list(topic.partitions), False
    else:
        for asked in request.topic_partitions:
            yield asked.topic, asked.partitions, True


def _elect_topic(
    changes: PartitionChanges,
    election: Election,
    topic: str,
    numbers: list[int],
    *,
    says_all: bool,
) -> ReplicaElectionResult:
    """Where all partitions are asked for, those that need no election are not answered."""
    result = ReplicaElectionResult(topic)
    for number in numbers:
        answer = PartitionResult(number, error_message=None)
        try:
            _elect(changes, election, topic, number)
        except Refused as refused:
            if refused.error is ErrorCode.POLICY_VIOLATION:
                raise
            answer.error_code, answer.error_message = refused.error, refused.message
        if says_all or answer.error_code != ErrorCode.ELECTION_NOT_NEEDED:
            result.partition_result.append(answer)
    return result


def _elect(changes: PartitionChanges, election: Election, topic: str, number: int) -> None:
    topic_id = changes.view.image.topics.id_by_name.get(topic)
    if topic_id is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
    key = PartitionKey(topic_id, number)
    partition = changes.get(key)
    if partition is None:
        reason = f"No such partition as {topic}-{number}"
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    is_preferred = election is Election.PREFERRED
    has_leader = partition.leader == partition.preferred_leader
    if has_leader if is_preferred else partition.has_leader:
        raise Refused(ErrorCode.ELECTION_NOT_NEEDED)
    if not changes.has_room:
        raise Refused(ErrorCode.POLICY_VIOLATION, TOO_LARGE)
    if changes.change(key, Target(election)) is None:
        raise Refused(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            if is_preferred
            else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )


def _refused(
    request: ElectLeadersRequest, context: Context, refused: Refused
) -> Result[ElectLeadersResponse]:
    """The same error for each partition that was named, and from v1 on for the whole."""
    results = [
        ReplicaElectionResult(
            asked.topic,
            [PartitionResult(at, refused.error, refused.message) for at in asked.partitions],
        )
        for asked in request.topic_partitions or ()
    ]
    response = ElectLeadersResponse(replica_election_results=results)
    if context.api_version >= 1:
        response.error_code = refused.error
    return Result((), response)


def _imbalanced(view: View, broker_id: int) -> list[PartitionKey]:
    """Those that prefer the broker and are led by others, if they are too many."""
    topics = view.image.topics.by_id
    preferring = 0
    elsewhere = []
    for key in view.replicas.partitions_of(broker_id):
        partition = topics[key.topic_id].partitions[key.partition]
        if partition.preferred_leader == broker_id:
            preferring += 1
            if partition.leader != broker_id:
                elsewhere.append(key)
    is_much = len(elsewhere) * 100 > preferring * view.settings.leader_imbalance_percent
    return elsewhere if is_much else []
