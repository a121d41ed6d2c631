"""Controllers come and go while topics are created (KIP-853): none is lost, none is made twice."""

from pathlib import Path

import pytest

from tests.support.controller_admin import Admin
from tests.support.controller_process import ControllerNode, Quorum, controllers, until
from tests.support.fake_broker import FakeBrokers
from tests.support.metadata_files import check_same_logs
from tests.support.topic_stream import TopicStream

AUTO_JOIN = "controller.quorum.auto.join.enable=true\n"


def check_topics(quorum: Quorum, brokers: FakeBrokers, topics: TopicStream) -> None:
    last = topics.created[-1].name
    image = brokers.wait_image(lambda image: image.topics.named(last) is not None, last)
    topics.check_image(image)
    for node in quorum.running:
        node.stop()
    check_same_logs([node.metadata for node in quorum.nodes.values()])
    topics.check_log(quorum)


def grow(quorum: Quorum, admin: Admin, topics: TopicStream, *node_ids: int) -> None:
    for node_id in node_ids:
        admin.add_voter(quorum.add_observer(node_id))
        topics.wait_for(5)


def shrink(quorum: Quorum, admin: Admin, topics: TopicStream, *node_ids: int) -> None:
    for node_id in node_ids:
        admin.remove_voter(node_id, quorum[node_id].directory_id)
        assert node_id not in admin.voter_ids
        quorum[node_id].stop()
        topics.wait_for(5)


@pytest.mark.timeout(240)
def test_a_quorum_grows_from_one_to_five_and_back_under_load(tmp_path: Path) -> None:
    with controllers(tmp_path, 1) as quorum:
        for node_id in (2, 3, 4, 5):
            quorum.make(node_id)
        with FakeBrokers(quorum.links) as brokers:
            with TopicStream(quorum) as topics, Admin(quorum) as admin:
                topics.wait_for(5)
                grow(quorum, admin, topics, 2, 3)
                assert admin.voter_ids == [1, 2, 3]
                grow(quorum, admin, topics, 4, 5)
                assert admin.voter_ids == [1, 2, 3, 4, 5]
                # The leader itself among them, whichever that is by now.
                shrink(quorum, admin, topics, 1, 2)
                assert admin.voter_ids == [3, 4, 5]
                shrink(quorum, admin, topics, 3, 4)
                assert admin.voter_ids == [5]
            check_topics(quorum, brokers, topics)


@pytest.mark.parametrize("who", ["active", "standby"])
def test_a_controller_whose_disk_is_lost_is_replaced(tmp_path: Path, who: str) -> None:
    with controllers(tmp_path, 3) as quorum, FakeBrokers(quorum.links) as brokers:
        with TopicStream(quorum) as topics, Admin(quorum, timeout_s=2) as admin:
            topics.wait_for(10)
            active = topics.created[-1].node_id
            lost = quorum[active if who == "active" else active % 3 + 1]
            old_id = lost.directory_id
            lost.kill()
            lost.lose_disk()
            topics.wait_for(10)

            admin.remove_voter(lost.id, old_id)
            new = quorum.add_observer(lost.id)
            assert new.directory_id != old_id
            admin.add_voter(new)

            assert admin.voter_ids == [1, 2, 3]
            topics.wait_for(10)
            check_counts_for_majority(quorum, topics, new)
        check_topics(quorum, brokers, topics)


def check_counts_for_majority(quorum: Quorum, topics: TopicStream, new: ControllerNode) -> None:
    """With one of the others gone nothing is committed without it."""
    other = next(node for node in quorum.running if node is not new)
    other.kill()
    topics.wait_for(10)
    other.start()
    other.wait_answers()


def test_controllers_join_by_themselves_where_they_are_told_to(tmp_path: Path) -> None:
    with controllers(tmp_path, 1, AUTO_JOIN) as quorum, Admin(quorum) as admin:
        admin.wait_decides()
        quorum.add_observer(2)
        quorum.add_observer(3)

        until(lambda: admin.voter_ids == [1, 2, 3], "all of them vote")
