"""Three controllers and three brokers are killed and stopped, and an application notices little.

Its producer is idempotent with acks=all, its topic has three replicas of which two must be in sync.
Whatever happens: what was acknowledged is there in the end, once, in order and where it was said.
How long writing was interrupted is printed, and not asserted: docs/benchmarks.md has figures.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.cluster_process import BrokerNode, ProcessCluster, cluster_of
from tests.support.node_process import NodeProcess
from tests.support.steady_writer import SteadyWriter

TOPIC = "ledger"
PARTITIONS = 6
QUORUM_AWAY_S = 5.0
LINES_MAX = 50
"""Ten in ten seconds, since a broker was started."""
ROUNDS_OF_A_SOAK = 10
DEATHS_TO_WARM_UP = 5
DEATHS = 30
DESCRIPTORS_MORE = 5
THREADS_MORE = 4
KIB_MORE = 10 * 1024


class Chaos:
    """What may happen to a cluster, each until it is whole again."""

    def __init__(self, cluster: ProcessCluster, writer: SteadyWriter) -> None:
        self._cluster = cluster
        self._writer = writer

    def kill_a_leader(self, spared: int | None = None) -> None:
        leader, led = self._some_leader(spared)
        since = time.monotonic()
        leader.kill()
        resumed_s = self._writer.wait_resumed(led, since)
        report("kill -9 of a leader", f"{resumed_s:.2f} s until all is written to again")
        leader.restart()
        self._wait_whole()

    def stop_a_leader(self, *, is_waited_out: bool = False) -> None:
        """Its sockets stay open. A client waits for its own time-out, or until it goes on."""
        leader, led = self._some_leader()
        since = time.monotonic()
        leader.suspend()
        for partition in led:
            self._cluster.wait_leader(TOPIC, partition, other_than=leader.id)
        replaced_s = time.monotonic() - since
        if not is_waited_out:
            leader.resume()
        resumed_s = self._writer.wait_resumed(led, since)
        if is_waited_out:
            leader.resume()
        report("SIGSTOP of a leader", f"{replaced_s:.2f} s until others lead")
        report("SIGSTOP of a leader", f"{resumed_s:.2f} s until all is written to again")
        self._wait_whole()

    def kill_all_brokers(self) -> None:
        for broker in self._cluster.brokers.values():
            broker.kill()
        since = time.monotonic()
        for broker in self._cluster.brokers.values():
            broker.start()
        for broker in self._cluster.brokers.values():
            broker.wait_started()
        started_s = time.monotonic() - since
        resumed_s = self._writer.wait_resumed(range(PARTITIONS), since)
        report("kill -9 of all brokers", f"{started_s:.2f} s until they are started again")
        report("kill -9 of all brokers", f"{resumed_s:.2f} s until all is written to again")
        self._wait_whole()

    def kill_all_controllers(self) -> None:
        """Brokers go on serving what they lead."""
        quorum = self._cluster.quorum
        for controller in quorum.nodes.values():
            controller.kill()
        since = time.monotonic()
        before = self._writer.count
        while time.monotonic() - since < QUORUM_AWAY_S:
            time.sleep(0.1)
        # Every partition, and records that were sent when no controller was left.
        self._writer.wait_resumed(range(PARTITIONS), since + QUORUM_AWAY_S / 2)
        report(
            "no controller",
            f"{self._writer.count - before} records acknowledged meanwhile, longest gap "
            f"{self._writer.longest_gap(range(PARTITIONS), since):.2f} s",
        )
        assert not quorum.running
        self._assert_quiet()
        quorum.start()
        quorum.wait_active()
        self._wait_whole()

    def _assert_quiet(self) -> None:
        """Who looks for a controller in vain does not fill the log with it."""
        for broker in self._cluster.brokers.values():
            assert broker.child is not None
            lines = broker.child.output().count("looks for another controller")
            assert lines < LINES_MAX, f"{broker.name} says so {lines} times"

    def kill_everything(self) -> None:
        self._cluster.kill_all()
        since = time.monotonic()
        self._cluster.start()
        resumed_s = self._writer.wait_resumed(range(PARTITIONS), since)
        report("kill -9 of every process", f"{resumed_s:.2f} s until all is written to again")
        self._wait_whole()

    def terminate_a_leader(self) -> None:
        leader, led = self._some_leader()
        since = time.monotonic()
        leader.stop()
        ended_s = time.monotonic() - since
        self._writer.wait_resumed(led, time.monotonic())
        gap_s = self._writer.longest_gap(led, since)
        report("clean move", f"{gap_s:.2f} s without an acknowledgement, ended in {ended_s:.2f} s")
        leader.restart()
        self._wait_whole()

    def _some_leader(self, spared: int | None = None) -> tuple[BrokerNode, list[int]]:
        """The one with the most partitions, and which; not `spared`."""
        leaders = [self._cluster.wait_leader(TOPIC, index) for index in range(PARTITIONS)]
        others = [one for one in self._cluster.brokers if one != spared]
        most = max(others, key=leaders.count)
        led = [index for index, leader in enumerate(leaders) if leader == most]
        return self._cluster.brokers[most], led or list(range(PARTITIONS))

    def _wait_whole(self) -> None:
        """Every replica is in sync: the next fault is one of one."""
        for index in range(PARTITIONS):
            self._cluster.wait_isr(TOPIC, set(self._cluster.brokers), index, deadline_s=60)
        self._writer.wait_resumed(range(PARTITIONS), time.monotonic())


def report(what: str, measured: str) -> None:
    print(f"{what}: {measured}")


def assert_no_complaints(cluster: ProcessCluster) -> None:
    for node in cluster.nodes:
        assert "Traceback" not in node.output(), node.output()


@contextmanager
def cluster_in_use(tmp_path: Path) -> Iterator[tuple[ProcessCluster, Chaos]]:
    """Written to until its end; then everything is there that should be."""
    with cluster_of(tmp_path, controllers=3, brokers=3) as cluster:
        configs = {"min.insync.replicas": "2"}
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replicas=3, configs=configs)
        with SteadyWriter(cluster.bootstrap, TOPIC, partitions=PARTITIONS) as writer:
            writer.wait_resumed(range(PARTITIONS), time.monotonic())
            yield cluster, Chaos(cluster, writer)
        writer.check()
        report("in the end", f"{writer.count} records acknowledged, all there, once, in order")
        assert_no_complaints(cluster)


def run(tmp_path: Path, rounds: int) -> None:
    with cluster_in_use(tmp_path) as (_, chaos):
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}")
            chaos.kill_a_leader()
            chaos.stop_a_leader()
            chaos.kill_all_brokers()
            chaos.kill_all_controllers()
            chaos.terminate_a_leader()
            chaos.kill_everything()


def test_nothing_that_was_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    run(tmp_path, rounds=1)


@pytest.mark.soak
def test_nothing_is_lost_or_doubled_ten_times_over(tmp_path: Path) -> None:
    run(tmp_path, rounds=ROUNDS_OF_A_SOAK)


@pytest.mark.soak
def test_clients_leave_a_leader_that_stays_stopped(tmp_path: Path) -> None:
    """librdkafka gives up a connection after socket.timeout.ms, 60 s, and asks others who leads."""
    with cluster_in_use(tmp_path) as (_, chaos):
        chaos.stop_a_leader(is_waited_out=True)


@pytest.mark.soak
def test_those_who_stay_hold_no_more_than_before(tmp_path: Path) -> None:
    """One broker and the controllers see the other two brokers die again and again."""
    with cluster_in_use(tmp_path) as (cluster, chaos):
        spared = max(cluster.brokers)
        stay = [*cluster.quorum.nodes.values(), cluster.brokers[spared]]
        for _ in range(DEATHS_TO_WARM_UP):
            chaos.kill_a_leader(spared)
        before = [held(node) for node in stay]
        for _ in range(DEATHS):
            chaos.kill_a_leader(spared)
        after = [held(node) for node in stay]
        for node, then, now in zip(stay, before, after, strict=True):
            report(node.name, f"{then} before {DEATHS} deaths, {now} after")
        for then, now in zip(before, after, strict=True):
            assert now.descriptors <= then.descriptors + DESCRIPTORS_MORE
            assert now.threads <= then.threads + THREADS_MORE
            assert now.resident_kib <= then.resident_kib + KIB_MORE


class Held(NamedTuple):
    descriptors: int
    threads: int
    resident_kib: int


def held(node: NodeProcess) -> Held:
    assert node.child is not None
    process = Path(f"/proc/{node.child.process.pid}")
    return Held(
        len(list((process / "fd").iterdir())),
        len(list((process / "task").iterdir())),
        node.resident_kib(),
    )
