"""What pods, hosts and amounts of Kubernetes mean to plans."""

import pytest

from barnabas_operator.kube.client import Json
from barnabas_operator.kube.quantity import bytes_of, quantity_of
from barnabas_operator.kube.reading import is_draining, read_pod

NOW_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
REVISION = "barnabas.dev/revision"


def pod(**status: object) -> Json:
    metadata = {
        "name": "events-main-0",
        "uid": "u",
        "annotations": {REVISION: "abc"},
        "creationTimestamp": "2025-12-31T23:50:00Z",
    }
    return {"metadata": metadata, "spec": {"nodeName": "host"}, "status": status}


def ready(word: str, at: str = "2025-12-31T23:59:00Z") -> Json:
    return {"type": "Ready", "status": word, "lastTransitionTime": at}


def test_a_pod_that_is_ready() -> None:
    found = read_pod(pod(conditions=[ready("True")]), REVISION, NOW_MS)

    assert found.is_ready
    assert not found.is_dead
    assert (found.revision, found.unready_ms, found.host) == ("abc", 0, "host")


@pytest.mark.parametrize("member", ["containerStatuses", "initContainerStatuses"])
def test_why_a_container_does_not_run(member: str) -> None:
    waiting = {"name": "x", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    found = read_pod(pod(conditions=[ready("False")], **{member: [waiting]}), REVISION, NOW_MS)

    assert found.is_dead
    assert found.waiting_reason == "CrashLoopBackOff"
    assert found.unready_ms == 60_000


def test_a_container_that_is_being_made_is_not_dead() -> None:
    waiting = {"name": "x", "state": {"waiting": {"reason": "ContainerCreating"}}}
    found = read_pod(pod(containerStatuses=[waiting]), REVISION, NOW_MS)

    assert not found.is_dead
    assert found.unready_ms == 600_000, "it was never ready: its age counts"


def test_a_pod_without_a_place_is_dead_only_after_a_while() -> None:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    young = pod(conditions=[scheduled])
    young["metadata"]["creationTimestamp"] = "2025-12-31T23:59:50Z"

    assert not read_pod(young, REVISION, NOW_MS).is_dead
    assert read_pod(pod(conditions=[scheduled]), REVISION, NOW_MS).is_dead


@pytest.mark.parametrize(
    ("spec", "drains"),
    [
        ({}, False),
        ({"unschedulable": True}, True),
        ({"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}, True),
        ({"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}, True),
        ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, False),
    ],
)
def test_hosts_that_are_to_go(spec: Json, drains: bool) -> None:
    assert is_draining({"spec": spec}) is drains


@pytest.mark.parametrize(
    ("text", "count"),
    [("1Gi", 2**30), ("1.5Ki", 1536), ("10G", 10**10), ("7", 7), ("1500m", 2), ("0", 0)],
)
def test_amounts(text: str, count: int) -> None:
    assert bytes_of(text) == count


@pytest.mark.parametrize(
    ("count", "text"), [(2**31, "2Gi"), (1536, "1536"), (3 * 2**20, "3Mi"), (0, "0")]
)
def test_amounts_as_people_write_them(count: int, text: str) -> None:
    assert quantity_of(count) == text


@pytest.mark.parametrize("text", ["", "Gi", "1Xi", "ten"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="no amount"):
        bytes_of(text)
