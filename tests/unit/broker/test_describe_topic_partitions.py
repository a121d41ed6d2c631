"""DescribeTopicPartitions, from the typed request to the typed answer."""

import pytest

from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.handlers.describe_topic_partitions import DescribeTopicPartitionsHandler
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from barnabas_core.wire.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
)
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.broker_bench import context
from tests.support.cluster_image import broker, cluster_view, replayed, topic

A_ID, B_ID = b"a" * 16, b"b" * 16


def cluster() -> ClusterView:
    return cluster_view(
        [broker(1), broker(2), *topic("b", B_ID, [(1, 2)] * 3), *topic("a", A_ID, [(2, 1)] * 2)]
    )


def ask(
    *names: str,
    limit: int = 2_000,
    cursor: Cursor | None = None,
    view: ClusterView | None = None,
    limit_max: int = 2_000,
) -> DescribeTopicPartitionsResponse:
    handler = DescribeTopicPartitionsHandler(view or cluster(), limit_max)
    request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, cursor)
    return handler.handle(request, context(0))


def listed(answer: DescribeTopicPartitionsResponse) -> dict[str | None, list[int]]:
    return {
        topic.name: [partition.partition_index for partition in topic.partitions]
        for topic in answer.topics
    }


def test_all_topics_come_in_the_order_of_their_names() -> None:
    answer = ask()

    assert list(listed(answer).items()) == [("a", [0, 1]), ("b", [0, 1, 2])]
    assert answer.next_cursor is None
    assert answer.topics[0].topic_id == A_ID
    assert answer.topics[0].topic_authorized_operations == 0b110111111000


def test_a_partition_tells_its_replicas_and_who_may_be_elected() -> None:
    view = cluster()
    change = PartitionChangeRecord(
        0, B_ID, isr=[1], eligible_leader_replicas=[2], last_known_elr=[]
    )
    view.image = replayed([change, FenceBrokerRecord(2, 2)], view.image)[1]

    answer = ask("b", view=view)

    found = answer.topics[0].partitions[0]
    assert (found.error_code, found.leader_id, found.leader_epoch) == (0, 1, 0)
    assert (found.replica_nodes, found.isr_nodes) == ([1, 2], [1])
    assert (found.eligible_leader_replicas, found.last_known_elr) == ([2], [])
    assert found.offline_replicas == [2]


def test_a_leader_that_the_client_cannot_reach_is_none() -> None:
    view = cluster()
    change = PartitionChangeRecord(0, A_ID, leader=-1)
    view.image = replayed([change], view.image)[1]

    first, second = ask("a", view=view).topics[0].partitions

    assert (first.leader_id, second.leader_id) == (-1, 2)


@pytest.mark.parametrize("limit", range(1, 7))
def test_following_the_cursor_gives_every_partition_once(limit: int) -> None:
    found: list[tuple[str | None, int]] = []
    cursor: Cursor | None = None
    for _ in range(6):
        answer = ask(limit=limit, cursor=cursor)
        page = [(name, index) for name, indexes in listed(answer).items() for index in indexes]
        assert 0 < len(page) <= limit
        found += page
        if answer.next_cursor is None:
            break
        cursor = Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)

    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]


def test_the_brokers_limit_holds_whatever_the_client_wants() -> None:
    answer = ask(limit_max=1)

    assert listed(answer) == {"a": [0]}


def test_a_limit_of_nothing_is_one() -> None:
    assert listed(ask(limit=0)) == {"a": [0]}


def test_unknown_topics_have_an_error_of_their_own() -> None:
    answer = ask("b", "unknown", "not a name")

    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "b": ErrorCode.NONE,
        "not a name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_cursor_outside_of_the_topics_asked_for_is_refused() -> None:
    answer = ask("b", cursor=Cursor("a", 0))

    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_a_cursor_before_the_first_partition_is_refused() -> None:
    answer = ask("b", cursor=Cursor("b", -1))

    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_a_cursor_at_a_topic_that_is_gone_goes_on_behind_it() -> None:
    assert listed(ask(cursor=Cursor("aa", 1))) == {"b": [0, 1, 2]}
