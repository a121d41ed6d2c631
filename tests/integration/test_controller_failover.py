"""The active controller is lost under a stream of topic creations: killed, or stopped (SIGSTOP).

A controller is active within 4 s; every topic that was acknowledged is there with the id that was
told, and none is there twice.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import CreateTopicsResponse
from tests.support.controller_admin import Admin
from tests.support.controller_process import Quorum, busy_factor, controllers, until
from tests.support.fake_broker import FakeBrokers
from tests.support.metadata_files import check_same_logs
from tests.support.raw_client import RawClient
from tests.support.topic_stream import TopicStream

FAILOVER_S = 4.0
COUNT = 3


def test_a_killed_active_controller_loses_nothing(tmp_path: Path) -> None:
    check_losses(tmp_path, rounds=2, lose=lose_by_kill)


def test_a_stopped_active_controller_comes_back_as_a_follower(tmp_path: Path) -> None:
    check_losses(tmp_path, rounds=1, lose=lose_by_stop)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_ten_losses_in_a_row_lose_nothing(tmp_path: Path, how: str) -> None:
    check_losses(tmp_path, rounds=10, lose={"kill": lose_by_kill, "stop": lose_by_stop}[how])


def check_losses(
    directory: Path, rounds: int, lose: Callable[[Quorum, TopicStream, int], None]
) -> None:
    with controllers(directory, COUNT) as quorum:
        with FakeBrokers(quorum.links) as brokers:
            with TopicStream(quorum) as topics:
                for number in range(rounds):
                    topics.wait_for(30)
                    lose(quorum, topics, number)
                    topics.wait_for(30)
            last = topics.created[-1].name
            image = brokers.wait_image(lambda image: image.topics.named(last) is not None, last)
        topics.check_image(image)
        for node in quorum.running:
            node.stop()
        check_same_logs([node.metadata for node in quorum.nodes.values()])
        topics.check_log(quorum)
        print(f"{len(topics.created)} topics, {topics.longest_gap_s():.1f} s without at most")


def lose_by_kill(quorum: Quorum, topics: TopicStream, number: int) -> None:
    active = topics.created[-1].node_id
    deadline_s = FAILOVER_S * busy_factor()

    quorum[active].kill()

    took_s = topics.wait_for(1, by_other_than=active)
    print(f"round {number}: killed {active}, {topics.created[-1].node_id} after {took_s:.1f} s")
    assert took_s < deadline_s
    quorum[active].start()
    quorum[active].wait_answers()


def lose_by_stop(quorum: Quorum, topics: TopicStream, number: int) -> None:
    """What reaches it while it is stopped is answered when it goes on, and was not done."""
    active = topics.created[-1].node_id
    deadline_s = FAILOVER_S * busy_factor()
    with RawClient(quorum[active].address) as client:
        name = f"late-{number}"
        quorum[active].suspend()
        client.send(CreateTopicsRequest([CreatableTopic(name, 1, 1)]), 7)

        took_s = topics.wait_for(1, by_other_than=active)
        successor = topics.created[-1].node_id
        print(f"round {number}: stopped {active}, {successor} after {took_s:.1f} s")
        assert took_s < deadline_s
        quorum[active].resume()

        answer = client.receive(CreateTopicsResponse, 7)
        assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    with Admin(quorum) as admin:
        until(lambda: follows(admin, active), f"{active} follows")
        admin.create_topic(name)


def follows(admin: Admin, node_id: int) -> bool:
    """Its log is where the leader's is, or a record behind: it moves all the time."""
    found = admin.describe_quorum()
    ends = {voter.replica_id: voter.log_end_offset for voter in found.current_voters}
    return found.leader_id != node_id and ends[node_id] >= found.high_watermark - 10
