"""Three controllers, three brokers and two group coordinators, each a process; some are killed.

Members of groups notice nothing but a pause: they stay who they are, keep their partitions, and
what was acknowledged as committed is committed. How long the pause was is printed, not asserted.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from barnabas_core.wire.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
)
from tests.support.cluster_process import BrokerNode
from tests.support.controller_process import until
from tests.support.coordinator_process import CoordinatorNode
from tests.support.group_cluster import TOPIC, GroupCluster, group_cluster, group_count
from tests.support.steady_groups import SteadyGroups

PROTOCOLS = ("classic", "consumer")
ROUNDS_OF_A_SOAK = 10
Epochs = dict[str, tuple[int, list[tuple[str, int]]]]


class Failover:
    """What may happen, each until the cluster is whole again."""

    def __init__(self, cluster: GroupCluster, groups: SteadyGroups) -> None:
        self._cluster = cluster
        self._groups = groups

    def kill_a_coordinator(self) -> None:
        node = self._cluster.busiest_coordinator()
        self._kill(node, f"kill -9 of a coordinator with {group_count(node)} groups")

    def kill_a_leader_of_shards(self) -> None:
        broker = self._cluster.busiest_broker()
        self._kill(broker, "kill -9 of the broker that leads most shards")

    def _kill(self, node: CoordinatorNode | BrokerNode, what: str) -> None:
        before = self._epochs()
        killed_at = time.monotonic()
        node.kill()
        dead_at = time.monotonic()  # what was sent before may have been answered by it
        for protocol in PROTOCOLS:
            served_s = self._groups.wait_served(dead_at, protocol) + dead_at - killed_at
            print(f"{what}: {served_s:.2f} s until all {protocol} groups are served again")
        self._groups.assert_nobody_was_put_out()
        assert self._epochs() == before
        self._cluster.bring_back(node)

    def _epochs(self) -> Epochs:
        """(epoch of the group, that of each member) of the groups of the new protocol."""
        wanted = [group for group in self._groups.groups if group.startswith("consumer")]
        found: Epochs = {}

        def are_known() -> bool:
            for broker in self._cluster.processes.running_brokers:
                request = ConsumerGroupDescribeRequest(wanted)
                answer = broker.ask(request, ConsumerGroupDescribeResponse, timeout_s=5)
                for group in () if answer is None else answer.groups:
                    if group.error_code == ErrorCode.NONE:
                        members = sorted((it.member_id, it.member_epoch) for it in group.members)
                        found[group.group_id] = group.group_epoch, members
            return len(found) == len(wanted)

        until(are_known, "every group is described", 60)
        return found


@contextmanager
def groups_at_work(directory: Path) -> Iterator[Failover]:
    with group_cluster(directory) as cluster:
        with SteadyGroups(cluster.bootstrap, TOPIC, *PROTOCOLS) as groups:
            groups.wait_settled()
            yield Failover(cluster, groups)
        groups.check()
        cluster.assert_no_complaints()


def run(directory: Path, rounds: int) -> None:
    with groups_at_work(directory) as failover:
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}")
            failover.kill_a_coordinator()
            failover.kill_a_leader_of_shards()


def test_members_stay_and_commits_are_kept(tmp_path: Path) -> None:
    run(tmp_path, rounds=2)


@pytest.mark.soak
def test_members_stay_and_commits_are_kept_ten_times_over(tmp_path: Path) -> None:
    run(tmp_path, ROUNDS_OF_A_SOAK)
