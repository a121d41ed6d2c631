"""Barnabas as users start it: one node by `barnabas up`; several as containers run them, which is
a process for each broker and for each controller, as many of these as of those.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.compare.cluster import BARNABAS, Cluster, Side, wait_answered
from tests.support.cluster_process import ProcessCluster
from tests.support.kafka_node import free_ports
from tests.support.process import Child, running

_START_TIMEOUT_S: Final = 60
_STOP_TIMEOUT_S: Final = 120  # 10,000 new partitions are synced at the end
_PROGRAM: Final = Path(sys.executable).parent / "barnabas"


def barnabas_side() -> Side:
    return Side(BARNABAS, _running)


@contextmanager
def _running(directory: Path, count: int) -> Iterator[Cluster]:
    # Compiled modules are kept, as an installation has them.
    environment = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(directory.parent / "compiled"),
    }
    running_nodes = _running_one if count == 1 else _running_several
    with running_nodes(directory, count, environment) as cluster:
        yield cluster


@contextmanager
def _running_one(directory: Path, _: int, environment: Mapping[str, str]) -> Iterator[Cluster]:
    port = free_ports(1)[0]
    command = [str(_PROGRAM), "up", "--port", str(port), "--data", str(directory / "data")]
    with running(command, directory / "barnabas.out", environment) as child:
        wait_answered(child, port, _START_TIMEOUT_S)
        yield Cluster(BARNABAS, [child], [port])
        child.stop(_STOP_TIMEOUT_S)


@contextmanager
def _running_several(
    directory: Path, count: int, environment: Mapping[str, str]
) -> Iterator[Cluster]:
    cluster = ProcessCluster(directory, broker_extra="log.segment.delete.delay.ms=1000\n")
    try:
        cluster.format(controllers=count, brokers=count)
        for node in cluster.nodes:
            node.start(environment)
        cluster.wait_started()
        children = [child for node in cluster.nodes if (child := node.child) is not None]
        yield Cluster(BARNABAS, children, [broker.port for broker in cluster.brokers.values()])
        _stop(children)
    finally:
        cluster.close()


def _stop(children: list[Child]) -> None:
    """All at once: nobody is left to hand anything over to."""
    for child in children:
        child.process.terminate()
    for child in children:
        child.stop()
