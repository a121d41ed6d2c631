"""A controller with many topics: created, snapshotted, and all there after a restart."""

import time
from pathlib import Path

import pytest

from bench.controller import create_all, restart, write_snapshot
from tests.support.controller_process import busy_factor, controllers
from tests.support.fake_broker import FakeBrokers
from tests.support.metadata_files import checkpoint_image

PARTITIONS = 3
CREATION_S = 60
RESTART_S = 3


def test_many_topics_survive_a_restart_from_a_snapshot(tmp_path: Path) -> None:
    check_topics(tmp_path, 1_000)


@pytest.mark.soak
def test_ten_thousand_topics_are_created_and_started_with_in_time(tmp_path: Path) -> None:
    created_s, restarted_s = check_topics(tmp_path, 10_000)

    assert created_s < CREATION_S * busy_factor()
    assert restarted_s < RESTART_S * busy_factor()


def check_topics(directory: Path, count: int) -> tuple[float, float]:
    """Seconds to create them, and to start with them."""
    names = [f"topic-{number}" for number in range(count)]
    with controllers(directory, 1) as quorum:
        node = quorum[quorum.wait_active()]
        with FakeBrokers(quorum.links):
            created_s = create_all(node, names, 50, PARTITIONS)
        snapshot = checkpoint_image(write_snapshot(quorum, node, count))
        restarted_s = restart(quorum, node, {})

        with FakeBrokers(quorum.links) as brokers:
            started_at = time.monotonic()
            image = brokers.wait_image(lambda image: len(image.topics) == count, "all topics")
            print(f"a broker has them {time.monotonic() - started_at:.1f} s later")
        for name in names:
            topic, kept = image.topics.named(name), snapshot.topics.named(name)
            assert topic is not None, name
            assert kept is not None, name
            assert topic.id == kept.id
            assert len(topic.partitions) == PARTITIONS
        return created_s, restarted_s
