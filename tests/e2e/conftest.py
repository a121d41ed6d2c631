"""The cluster that `make e2e` made, with the images of this tree in its nodes.

Tests share it, each in namespaces of its own; none of them makes or removes it.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.followed_log import FollowedLog
from tests.support.kafka_resource import KafkaResource, cluster_spec
from tests.support.kind_lab import FIGURES, KindLab, Place, note_figures
from tools.kube import kind_cluster
from tools.kube.images import TAG

MANIFESTS = Path(__file__).parent / "manifests"
CHART = Path(__file__).parents[2] / "charts" / "barnabas"
RELEASE = "barnabas"
SYSTEM = "barnabas-system"
OPERATOR_PODS = "app.kubernetes.io/name=barnabas-operator"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The README's reader has a cluster on which nothing is installed; logs are read at the end."""
    turns = {"test_readme.py": 0, "test_operator_log.py": 2}
    items.sort(key=lambda item: turns.get(item.path.name, 1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("figures")
    for line in FIGURES:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def lab() -> KindLab:
    cluster = kind_cluster.find()
    if cluster is None:
        pytest.fail("there is no cluster: run `make e2e`", pytrace=False)
    return KindLab(cluster)


@pytest.fixture(scope="session")
def running_by_hand(lab: KindLab) -> Iterator[Place]:
    with lab.namespace("by-hand", bootstrap="bootstrap:9092") as place:
        place.apply((MANIFESTS / "by-hand.yaml").read_text())
        yield place


@pytest.fixture
def by_hand(running_by_hand: Place) -> Place:
    """Controllers, brokers and a coordinator in StatefulSets written by hand, whole."""
    for app, count in (("controller", 3), ("broker", 3), ("coordinator", 1)):
        running_by_hand.wait_ready(f"app={app}", count)
    return running_by_hand


@pytest.fixture(scope="session")
def operator_log(lab: KindLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FollowedLog]:
    """Of every operator that the tests install, replace and kill."""
    place = Place(lab.cluster, SYSTEM, "")
    with FollowedLog(place, OPERATOR_PODS, tmp_path_factory.mktemp("operator-log")) as log:
        yield log


@pytest.fixture(scope="session")
def operator(lab: KindLab, operator_log: FollowedLog) -> Iterator[Place]:
    """The chart, installed as its users install it."""
    place = Place(lab.cluster, SYSTEM, "")
    values = ("--set", f"image.tag={TAG}", "--set", "image.pullPolicy=Never")
    where = ("--namespace", place.name, "--create-namespace", "--wait", "--timeout", "300s")
    begun_at = time.monotonic()
    lab.cluster.helm("upgrade", "--install", RELEASE, str(CHART), *where, *values)
    note_figures("helm install to Ready", {"seconds": round(time.monotonic() - begun_at)})
    yield place
    lab.cluster.helm("uninstall", RELEASE, "--namespace", place.name, "--wait")


@pytest.fixture(scope="session")
def running_orders(lab: KindLab, operator: Place) -> Iterator[KafkaResource]:
    with lab.namespace("orders", bootstrap="orders-plain-bootstrap:9092") as place:
        cluster = KafkaResource(place, "orders")
        cluster.apply(cluster_spec())
        note_figures("applied to Stable", {"seconds": round(cluster.wait())})
        yield cluster
        place.kubectl("delete", "kafkacluster", cluster.name, "--timeout=120s")


@pytest.fixture
def orders(running_orders: KafkaResource) -> KafkaResource:
    """Three controllers, three brokers and two group coordinators in three zones, stable."""
    running_orders.wait()
    return running_orders
