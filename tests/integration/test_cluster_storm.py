"""Faults as they come: any process is killed, stopped or ended at any time, several at once.

`test_cluster_chaos` waits until a cluster is whole before the next fault; here nobody waits. The
seed is printed, and BARNABAS_STORM_SEED repeats the faults of a run, if not their exact moments.
"""

import os
import random
import time
from pathlib import Path
from typing import Final

import pytest

from tests.support.cluster_process import BrokerNode, ProcessCluster, cluster_of
from tests.support.controller_process import ControllerNode
from tests.support.steady_writer import SteadyWriter

TOPIC: Final = "ledger"
PARTITIONS: Final = 6
SECONDS: Final = 15
SECONDS_OF_A_SOAK: Final = 180
PAUSE_S: Final = (0.05, 3.0)

Node = BrokerNode | ControllerNode


class Storm:
    def __init__(self, cluster: ProcessCluster, seed: int) -> None:
        self._cluster = cluster
        self._rng = random.Random(seed)
        self._stopped: list[Node] = []

    def blow(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._step()
            time.sleep(self._rng.uniform(*PAUSE_S))

    def calm(self) -> None:
        """Everybody runs again."""
        for node in self._stopped:
            node.resume()
        self._stopped = []
        for node in self._cluster.nodes:
            if not node.is_running:
                node.start()
        self._cluster.wait_started(deadline_s=60)

    def _step(self) -> None:
        node = self._rng.choice(self._cluster.nodes)
        if node in self._stopped:
            # It goes on, or dies where it stands.
            self._stopped.remove(node)
            action = self._rng.choice((node.resume, node.kill))
        elif not node.is_running:
            action = node.start
        else:
            action = self._rng.choice((node.kill, node.kill, node.suspend, node.terminate))
            if action == node.suspend:
                self._stopped.append(node)
        print(f"{time.monotonic():.2f} {node.name}: {action.__name__}")
        action()


def run(tmp_path: Path, seed: int, seconds: float) -> None:
    print(f"seed {seed}: repeat with BARNABAS_STORM_SEED={seed}")
    with cluster_of(tmp_path, controllers=3, brokers=3) as cluster:
        configs = {"min.insync.replicas": "2"}
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replicas=3, configs=configs)
        with SteadyWriter(cluster.bootstrap, TOPIC, partitions=PARTITIONS) as writer:
            writer.wait_resumed(range(PARTITIONS), time.monotonic())
            storm = Storm(cluster, seed)
            storm.blow(seconds)
            storm.calm()
            for index in range(PARTITIONS):
                cluster.wait_isr(TOPIC, set(cluster.brokers), index, deadline_s=60)
            writer.wait_resumed(range(PARTITIONS), time.monotonic())
        writer.check()
        print(f"{writer.count} records acknowledged, all there, once, in order")
        for node in cluster.nodes:
            assert "Traceback" not in node.output()


def some_seed() -> int:
    given = os.environ.get("BARNABAS_STORM_SEED")
    return int(given) if given else random.SystemRandom().randrange(1 << 32)


def test_nothing_acknowledged_is_lost_in_a_storm(tmp_path: Path) -> None:
    run(tmp_path, seed=1, seconds=SECONDS)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_in_a_long_storm(tmp_path: Path) -> None:
    run(tmp_path, some_seed(), SECONDS_OF_A_SOAK)
